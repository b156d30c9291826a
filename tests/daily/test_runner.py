"""The parts together, as they run: ticks on the minute, batches, restarts, lanes, an SQLite file."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from tests.daily.daily_fixtures import ALL, FAILED, AwayStore, AWorld, World, until

from cadenza.adapters.clock import SystemStopwatch
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.agents.users import UserKey
from cadenza.domain.daily.rules import enroll, lanes, shard_of, shards_of_lane
from cadenza.domain.daily.user import DONE, JobResult, Ruling, enrollment
from cadenza.ports.daily import Rule
from cadenza.testing import FakeIds

MIDNIGHT = datetime(2026, 3, 10, tzinfo=UTC)


@asynccontextmanager
async def running(*parts: Any) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(part()) for part in parts]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_an_hour_on_an_sqlite_file_across_midnight(a_world: AWorld, tmp_path: Path) -> None:
    await migrate(f"sqlite:///{tmp_path / 'cadenza.db'}")
    store = SqliteStore(SqliteFile(tmp_path / "cadenza.db"), FakeIds())
    world = a_world(MIDNIGHT - timedelta(minutes=90), store=store, max_concurrency=3)
    tried = Counter[str]()

    def answer(user_id: str, _: date) -> JobResult:
        """Every user's first attempt fails; `never` has no luck at all."""
        tried[user_id] += 1
        return FAILED if user_id == "never" or tried[user_id] == 1 else DONE

    world.jobs.answer = answer
    names = [f"user-{number}" for number in range(20)] + ["never"]
    for name in names:
        await world.enroll(name, time(0, 20))
    runner = world.runner
    async with running(runner.plan, runner.execute, runner.finalize):
        await until(lambda: world.clocks.now() >= MIDNIGHT + timedelta(minutes=40))
    await runner.close()
    verdicts = {one.user_id: one.status.value for one in await store.verdicts_on("default", MIDNIGHT.date())}
    assert verdicts == {name: "cutoff_reached" if name == "never" else "success" for name in names}
    assert (tried["never"], tried["user-0"]) == (6, 2)
    await store.close()


async def test_ticks_come_on_the_minute(a_world: AWorld) -> None:
    world = a_world(MIDNIGHT + timedelta(seconds=17.25))
    moments: list[datetime] = []
    tick = world.runner.planner.tick

    async def noted() -> Any:
        moments.append(world.clocks.wall)
        return await tick()

    world.runner.planner.tick = noted  # type: ignore[method-assign]
    async with running(world.runner.plan):
        await until(lambda: len(moments) >= 4)
    assert moments[1:4] == [MIDNIGHT + timedelta(minutes=number) for number in (1, 2, 3)]


class Counting(AwayStore):
    """Remembers how large its batches were."""

    def __init__(self) -> None:
        super().__init__(FakeIds())
        self.batches: list[int] = []

    async def settle_days(self, keys: Sequence[UserKey], rule: Rule) -> list[Ruling | None]:
        self.batches.append(len(keys))
        await asyncio.sleep(0)
        return await super().settle_days(keys, rule)


async def with_many(a_world: AWorld, count: int, **settings: int) -> tuple[World, Counting]:
    store = Counting()
    world = a_world(MIDNIGHT + timedelta(hours=9), store=store, **settings)
    wanted = [enrollment("default", f"user-{number:05}", time(10)) for number in range(count)]
    await store.enroll(wanted, partial(enroll, now=world.clocks.now()))
    return world, store


async def test_many_verdicts_are_written_in_bounded_batches_while_ticks_go_on(a_world: AWorld) -> None:
    world, store = await with_many(a_world, 3_000, batch=250)
    world.clocks.advance(timedelta(hours=1))
    ticked = await world.runner.tick()
    assert (ticked.cutoff_finalized, store.batches) == (3_000, [])
    async with running(world.runner.finalize):
        await until(lambda: len(store.batches) >= 3)
        again = await world.runner.tick()
        assert again.users_scanned < 3_000
        await until(lambda: not world.runner.finalizer.pending)
    assert len(await store.verdicts_on("default", MIDNIGHT.date(), ALL._replace(limit=5_000))) == 3_000
    assert max(store.batches) == 250
    told = [event for event in world.telemetry.events if event.name == "sched.finalize"]
    assert len(told) == 3_000


async def test_a_part_that_is_started_again_finds_what_the_others_left(a_world: AWorld) -> None:
    world, store = await with_many(a_world, 5)
    await world.runner.tick()
    async with running(world.runner.execute):
        await until(lambda: len(world.jobs.running) == 5)
    await world.finish(world.jobs.running[0])
    store.away = True
    async with running(world.runner.finalize):
        await until(lambda: "something is unavailable" in world.log.events("warning"))
    store.away = False
    async with running(world.runner.finalize, world.runner.execute):
        await until(lambda: not world.runner.finalizer.pending)
    assert len(await store.verdicts_on("default", MIDNIGHT.date())) == 1
    assert world.runner.executor.in_flight == 4


async def test_a_runner_serves_its_lanes_alone_and_lets_go_of_those_it_loses(a_world: AWorld) -> None:
    world, _ = await with_many(a_world, 64, max_concurrency=8)
    of = lanes(8)
    world.runner.serve({0, 1})
    await world.tick()
    mine = shards_of_lane(0, of) | shards_of_lane(1, of)
    assert {shard_of(UserKey("default", job.user_id)) for job in world.jobs.running} <= mine
    assert len(world.jobs.running) == 2
    assert len(world.runner.queue) > 0
    for job in world.jobs.running:
        job.killed = True
    world.runner.serve(set())
    await world.spin()
    assert (len(world.jobs.running), len(world.runner.queue)) == (0, 0)
    world.clocks.advance(timedelta(hours=1))
    await world.tick()
    assert await world.store.verdicts_on("default", MIDNIGHT.date()) == []


def test_the_machines_own_stopwatch_runs_forward() -> None:
    stopwatch = SystemStopwatch()
    first = stopwatch.elapsed_ms()
    assert first <= stopwatch.elapsed_ms()
