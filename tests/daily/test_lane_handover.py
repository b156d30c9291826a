"""A runner that leaves lanes: what runs there ends, and nothing is given away too soon."""

import asyncio
from datetime import UTC, datetime, time
from typing import Any

import pytest
from tests.daily.daily_fixtures import DailyFixture, MakeDaily, UnavailableDaily, until

from cadenza.adapters.stores.memory import MemoryStore
from cadenza.domain.agents.users import UserKey
from cadenza.domain.daily.rules import SHARDS, lane_count, lane_of, shard_of
from cadenza.domain.monitoring.slo import Slo, SloSettings
from cadenza.engine.monitoring.slo_watcher import SloWatcher
from cadenza.ports.daily import PendingDay
from cadenza.testing import FakeClock, FakeIds

NOON = datetime(2030, 1, 31, 12, tzinfo=UTC)
MOST = 4
OF = lane_count(MOST)


async def with_users(make_daily: MakeDaily, **given: Any) -> DailyFixture:
    """Many users in their windows."""
    daily: DailyFixture = make_daily(NOON, max_concurrency=MOST, **given)
    for number in range(40):
        await daily.enroll(f"user-{number}", time(12, 30))
    return daily


def lanes_at_work(daily: DailyFixture) -> set[int]:
    return {lane_of(shard_of(UserKey("default", run.user_id)), OF) for run in daily.runs.running}


async def test_jobs_of_a_lane_that_is_left_may_end_and_none_is_started(make_daily: MakeDaily) -> None:
    daily = await with_users(make_daily)
    daily.runner.serve({0})
    await daily.tick()
    (run,) = daily.runs.running
    daily.runner.serve({1}, leaving={0})
    await daily.tick()
    assert (run.cancelled, lanes_at_work(daily)) == (0, {0})
    assert daily.runner.done_with({0}) == []
    await daily.finish(run)
    assert daily.runner.done_with({0}) == [], "its success is not written"
    await daily.settle()
    assert daily.runner.done_with({0}) == [0]
    assert lanes_at_work(daily) == {1}


async def test_cutoffs_in_a_lane_that_is_left_are_seen_in_time_until_it_is_given_away(
    make_daily: MakeDaily,
) -> None:
    daily = await with_users(make_daily)
    daily.runner.serve({0})
    await daily.tick()
    (run,) = daily.runs.running
    daily.runner.serve((), leaving={0})
    await daily.every_minute(31)
    assert len(daily.runs.started) == 1
    verdicts = await daily.store.verdicts_on("default", NOON.date())
    assert {lane_of(shard_of(UserKey("default", one.user_id)), OF) for one in verdicts} == {0}
    assert len(verdicts) > 1
    assert {(one.status.value, one.late) for one in verdicts} == {("cutoff_reached", False)}
    assert daily.runner.done_with({0}) == [], "its job runs"
    await daily.finish(run)
    await daily.settle()
    assert daily.runner.done_with({0}) == [0]


async def test_a_lane_whose_slot_another_lane_takes_up_is_not_given_away(make_daily: MakeDaily) -> None:
    daily = await with_users(make_daily)
    daily.runner.serve({0, 1})
    await daily.tick()
    while lanes_at_work(daily) != {0}:
        for run in list(daily.runs.running):
            if lane_of(shard_of(UserKey("default", run.user_id)), OF) == 1:
                await daily.finish(run)
                await daily.settle()
    assert len(daily.runs.running) == 2
    daily.runner.serve({0}, leaving={1})
    assert daily.runner.done_with({1}) == [], "two run, and one slot is left"
    await daily.finish(daily.runs.running[0])
    await daily.settle()
    assert daily.runner.done_with({1}) == [1]


async def test_a_lane_that_is_lost_is_cut_off(make_daily: MakeDaily) -> None:
    daily = await with_users(make_daily)
    daily.runner.serve({0})
    await daily.tick()
    (run,) = daily.runs.running
    daily.runner.serve(())
    await daily.spin()
    assert run.cancelled == 1


class Slow(UnavailableDaily):
    """Tells of the last shard when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.tells = asyncio.Event()

    async def pending_days(self, shard: int, **asked: Any) -> list[PendingDay]:
        if shard == SHARDS - 1:
            await self.tells.wait()
        return await super().pending_days(shard, **asked)


async def test_a_tick_that_is_under_way_when_a_lane_is_lost_starts_nobody_there(
    make_daily: MakeDaily,
) -> None:
    store = Slow()
    daily = await with_users(make_daily, store=store)
    tick = asyncio.create_task(daily.runner.tick())
    await daily.spin()
    daily.runner.serve({1})
    store.tells.set()
    await tick
    await daily.pump()
    assert lanes_at_work(daily) == {1}
    assert len(daily.runner.queue) > 0
    assert daily.runner.done_with({0, 2, 3}) == [0, 2, 3]


async def test_who_waited_in_a_lane_that_was_lost_is_tried_as_soon_as_it_is_back(
    make_daily: MakeDaily,
) -> None:
    daily = await with_users(make_daily)
    daily.runner.serve({0})
    await daily.tick()
    (run,) = daily.runs.running
    run.killed = True
    daily.runner.serve(())
    await daily.spin()
    daily.runner.serve({0})
    await daily.tick()
    (next_one,) = daily.runs.running
    assert next_one.user_id != run.user_id, "the one that was tried has to wait"


async def test_who_is_newly_served_does_not_wait_for_the_next_tick(
    make_daily: MakeDaily, monkeypatch: pytest.MonkeyPatch
) -> None:
    daily = await with_users(make_daily)
    never = asyncio.Event()

    async def sleep(_: float) -> None:
        await never.wait()

    monkeypatch.setattr(daily.clocks, "sleep", sleep)
    daily.runner.serve(())
    parts = [asyncio.create_task(part()) for part in (daily.runner.run_ticks, daily.runner.execute)]
    await daily.spin()
    assert daily.runs.running == []
    daily.runner.serve({0, 1, 2, 3})
    await until(lambda: len(daily.runs.running) == MOST)
    for part in parts:
        part.cancel()
    await asyncio.gather(*parts, return_exceptions=True)


async def test_winding_down_lets_what_runs_end_and_writes_it(make_daily: MakeDaily) -> None:
    daily = await with_users(make_daily)
    await daily.tick()
    runs = list(daily.runs.running)
    ending = asyncio.create_task(daily.runner.drain(5_000))
    await daily.spin()
    daily.runner.serve(range(OF))
    for run in runs:
        await daily.finish(run)
    await ending
    assert len(daily.runs.started) == MOST, "more were started"
    verdicts = [await daily.verdicts(run.user_id) for run in runs]
    assert all(len(mine) == 1 for mine in verdicts)


async def test_who_serves_nobody_is_not_saturated(make_daily: MakeDaily) -> None:
    daily, clock = await with_users(make_daily), FakeClock()
    watcher = SloWatcher(
        clock=clock,
        log=daily.log,
        telemetry=daily.telemetry,
        store=MemoryStore(FakeIds()).slos,
        process="test",
        settings=SloSettings(),
        eval_ms=60_000,
    )
    daily.runner.serve(())
    await daily.tick()
    for event, measurements, metadata in daily.telemetry.events:
        watcher.emit(event, measurements, metadata)
    clock.jump(15 * 60_000)
    measured = [standing.state.measured for standing in watcher.evaluate()]
    assert [one.value for one in measured if one and one.slo is Slo.SATURATION] == [0]
