"""A runner that leaves lanes: what runs there ends, and nothing is given away too soon."""

import asyncio
from datetime import UTC, datetime, time
from typing import Any

import pytest
from tests.daily.daily_fixtures import AwayStore, AWorld, World, until

from cadenza.adapters.stores.memory import MemoryStore
from cadenza.domain.agents.users import UserKey
from cadenza.domain.daily.rules import SHARDS, lane_of, lanes, shard_of
from cadenza.domain.monitoring.slo import Slo, SloSettings
from cadenza.engine.monitoring.slo_watcher import SloWatcher
from cadenza.ports.daily import Owed
from cadenza.testing import FakeClock, FakeIds

NOON = datetime(2030, 1, 31, 12, tzinfo=UTC)
MOST = 4
OF = lanes(MOST)


async def with_users(a_world: AWorld, **given: Any) -> World:
    """Many users in their windows."""
    world: World = a_world(NOON, max_concurrency=MOST, **given)
    for number in range(40):
        await world.enroll(f"user-{number}", time(12, 30))
    return world


def lanes_at_work(world: World) -> set[int]:
    return {lane_of(shard_of(UserKey("default", job.user_id)), OF) for job in world.jobs.running}


async def test_jobs_of_a_lane_that_is_left_may_end_and_none_is_started(a_world: AWorld) -> None:
    world = await with_users(a_world)
    world.runner.serve({0})
    await world.tick()
    (job,) = world.jobs.running
    world.runner.serve({1}, leaving={0})
    await world.tick()
    assert (job.cancelled, lanes_at_work(world)) == (0, {0})
    assert world.runner.done_with({0}) == []
    await world.finish(job)
    assert world.runner.done_with({0}) == [], "its success is not written"
    await world.settle()
    assert world.runner.done_with({0}) == [0]
    assert lanes_at_work(world) == {1}


async def test_cutoffs_in_a_lane_that_is_left_are_seen_in_time_until_it_is_given_away(
    a_world: AWorld,
) -> None:
    world = await with_users(a_world)
    world.runner.serve({0})
    await world.tick()
    (job,) = world.jobs.running
    world.runner.serve((), leaving={0})
    await world.every_minute(31)
    assert len(world.jobs.started) == 1
    verdicts = await world.store.verdicts_on("default", NOON.date())
    assert {lane_of(shard_of(UserKey("default", one.user_id)), OF) for one in verdicts} == {0}
    assert len(verdicts) > 1
    assert {(one.status.value, one.late) for one in verdicts} == {("cutoff_reached", False)}
    assert world.runner.done_with({0}) == [], "its job runs"
    await world.finish(job)
    await world.settle()
    assert world.runner.done_with({0}) == [0]


async def test_a_lane_whose_slot_another_lane_takes_up_is_not_given_away(a_world: AWorld) -> None:
    world = await with_users(a_world)
    world.runner.serve({0, 1})
    await world.tick()
    while lanes_at_work(world) != {0}:
        for job in list(world.jobs.running):
            if lane_of(shard_of(UserKey("default", job.user_id)), OF) == 1:
                await world.finish(job)
                await world.settle()
    assert len(world.jobs.running) == 2
    world.runner.serve({0}, leaving={1})
    assert world.runner.done_with({1}) == [], "two run, and one slot is left"
    await world.finish(world.jobs.running[0])
    await world.settle()
    assert world.runner.done_with({1}) == [1]


async def test_a_lane_that_is_lost_is_cut_off(a_world: AWorld) -> None:
    world = await with_users(a_world)
    world.runner.serve({0})
    await world.tick()
    (job,) = world.jobs.running
    world.runner.serve(())
    await world.spin()
    assert job.cancelled == 1


class Slow(AwayStore):
    """Tells of the last shard when it is let."""

    def __init__(self) -> None:
        super().__init__(FakeIds())
        self.tells = asyncio.Event()

    async def owed_days(self, shard: int, **asked: Any) -> list[Owed]:
        if shard == SHARDS - 1:
            await self.tells.wait()
        return await super().owed_days(shard, **asked)


async def test_a_tick_that_is_under_way_when_a_lane_is_lost_starts_nobody_there(a_world: AWorld) -> None:
    store = Slow()
    world = await with_users(a_world, store=store)
    tick = asyncio.create_task(world.runner.tick())
    await world.spin()
    world.runner.serve({1})
    store.tells.set()
    await tick
    await world.pump()
    assert lanes_at_work(world) == {1}
    assert len(world.runner.queue) > 0
    assert world.runner.done_with({0, 2, 3}) == [0, 2, 3]


async def test_who_waited_in_a_lane_that_was_lost_is_tried_as_soon_as_it_is_back(a_world: AWorld) -> None:
    world = await with_users(a_world)
    world.runner.serve({0})
    await world.tick()
    (job,) = world.jobs.running
    job.killed = True
    world.runner.serve(())
    await world.spin()
    world.runner.serve({0})
    await world.tick()
    (next_one,) = world.jobs.running
    assert next_one.user_id != job.user_id, "the one that was tried has to wait"


async def test_who_is_newly_served_does_not_wait_for_the_next_tick(
    a_world: AWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = await with_users(a_world)
    never = asyncio.Event()

    async def sleep(_: float) -> None:
        await never.wait()

    monkeypatch.setattr(world.clocks, "sleep", sleep)
    world.runner.serve(())
    parts = [asyncio.create_task(part()) for part in (world.runner.plan, world.runner.execute)]
    await world.spin()
    assert world.jobs.running == []
    world.runner.serve({0, 1, 2, 3})
    await until(lambda: len(world.jobs.running) == MOST)
    for part in parts:
        part.cancel()
    await asyncio.gather(*parts, return_exceptions=True)


async def test_winding_down_lets_what_runs_end_and_writes_it(a_world: AWorld) -> None:
    world = await with_users(a_world)
    await world.tick()
    jobs = list(world.jobs.running)
    ending = asyncio.create_task(world.runner.wind_down(5_000))
    await world.spin()
    world.runner.serve(range(OF))
    for job in jobs:
        await world.finish(job)
    await ending
    assert len(world.jobs.started) == MOST, "more were started"
    verdicts = [await world.verdicts(job.user_id) for job in jobs]
    assert all(len(mine) == 1 for mine in verdicts)


async def test_who_serves_nobody_is_not_saturated(a_world: AWorld) -> None:
    world, clock = await with_users(a_world), FakeClock()
    watcher = SloWatcher(
        clock=clock,
        log=world.log,
        telemetry=world.telemetry,
        store=MemoryStore(FakeIds()),
        process="test",
        settings=SloSettings(),
        eval_ms=60_000,
    )
    world.runner.serve(())
    await world.tick()
    for event, measurements, metadata in world.telemetry.events:
        watcher.emit(event, measurements, metadata)
    clock.jump(15 * 60_000)
    measured = [standing.state.measured for standing in watcher.evaluate()]
    assert [one.value for one in measured if one and one.slo is Slo.SATURATION] == [0]
