"""The parts together, as they run: ticks on the minute, batches, restarts, lanes, an SQLite file."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from tests.daily.daily_fixtures import ALL, FAILED, DailyFixture, MakeDaily, UnavailableDaily, until

from cadenza.adapters.clock import SystemStopwatch
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.agents.users import UserKey
from cadenza.domain.daily.keys import DailyKey
from cadenza.domain.daily.rules import enroll, lane_count, shard_of, shards_of_lane
from cadenza.domain.daily.user import DONE, DailyRunResult, Finalization, enrollment
from cadenza.ports.daily import Finalize
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


async def test_an_hour_on_an_sqlite_file_across_midnight(make_daily: MakeDaily, tmp_path: Path) -> None:
    await migrate(f"sqlite:///{tmp_path / 'cadenza.db'}")
    store = SqliteStore(SqliteFile(tmp_path / "cadenza.db"), FakeIds())
    daily = make_daily(MIDNIGHT - timedelta(minutes=90), store=store.daily, max_concurrency=3)
    tried = Counter[str]()

    def answer(user_id: str, _: date) -> DailyRunResult:
        """Every user's first attempt fails; `never` has no luck at all."""
        tried[user_id] += 1
        return FAILED if user_id == "never" or tried[user_id] == 1 else DONE

    daily.runs.answer = answer
    names = [f"user-{number}" for number in range(20)] + ["never"]
    for name in names:
        await daily.enroll(name, time(0, 20))
    runner = daily.runner
    async with running(runner.run_ticks, runner.execute, runner.finalize):
        await until(lambda: daily.clocks.now() >= MIDNIGHT + timedelta(minutes=40))
    await runner.close()
    verdicts = {
        one.user_id: one.status.value for one in await store.daily.verdicts_on("default", MIDNIGHT.date())
    }
    assert verdicts == {name: "cutoff_reached" if name == "never" else "success" for name in names}
    assert tried == {name: 6 if name == "never" else 2 for name in names}
    await store.close()


async def test_ticks_come_on_the_minute(make_daily: MakeDaily) -> None:
    daily = make_daily(MIDNIGHT + timedelta(seconds=17.25))
    moments: list[datetime] = []
    tick = daily.runner.ticker.tick

    async def noted() -> Any:
        moments.append(daily.clocks.wall)
        return await tick()

    daily.runner.ticker.tick = noted  # type: ignore[method-assign]
    async with running(daily.runner.run_ticks):
        await until(lambda: len(moments) >= 4)
    assert moments[1:4] == [MIDNIGHT + timedelta(minutes=number) for number in (1, 2, 3)]


class Counting(UnavailableDaily):
    """Remembers how large its batches were."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[int] = []

    async def finalize_days(self, keys: Sequence[DailyKey], rule: Finalize) -> list[Finalization | None]:
        self.batches.append(len(keys))
        await asyncio.sleep(0)
        return await super().finalize_days(keys, rule)


async def with_many(make_daily: MakeDaily, count: int, **settings: int) -> tuple[DailyFixture, Counting]:
    store = Counting()
    daily = make_daily(MIDNIGHT + timedelta(hours=9), store=store, **settings)
    wanted = [enrollment("default", f"user-{number:05}", time(10)) for number in range(count)]
    await store.enroll(wanted, partial(enroll, now=daily.clocks.now()))
    return daily, store


async def test_many_verdicts_are_written_in_bounded_batches_while_ticks_go_on(make_daily: MakeDaily) -> None:
    daily, store = await with_many(make_daily, 3_000, batch=250)
    daily.clocks.advance(timedelta(hours=1))
    ticked = await daily.runner.tick()
    assert (ticked.users_scanned, store.batches) == (3_000, [])
    async with running(daily.runner.finalize):
        await until(lambda: len(store.batches) >= 3)
        again = await daily.runner.tick()
        assert again.users_scanned < 3_000
        await until(lambda: not daily.runner.finalizer.pending)
    assert len(await store.verdicts_on("default", MIDNIGHT.date(), ALL._replace(limit=5_000))) == 3_000
    assert max(store.batches) == 250
    told = [event for event in daily.telemetry.events if event.name == "sched.finalize"]
    assert len(told) == 3_000
    assert again.cutoff_finalized + (await daily.runner.tick()).cutoff_finalized == 3_000


async def test_a_part_that_is_started_again_finds_what_the_others_left(make_daily: MakeDaily) -> None:
    daily, store = await with_many(make_daily, 5)
    await daily.runner.tick()
    async with running(daily.runner.execute):
        await until(lambda: len(daily.runs.running) == 5)
    await daily.finish(daily.runs.running[0])
    store.away = True
    async with running(daily.runner.finalize):
        await until(lambda: "a dependency is unavailable, retrying" in daily.log.events("debug"))
    store.away = False
    async with running(daily.runner.finalize, daily.runner.execute):
        await until(lambda: not daily.runner.finalizer.pending)
    assert len(await store.verdicts_on("default", MIDNIGHT.date())) == 1
    assert daily.runner.executor.in_flight == 4


async def test_a_runner_serves_its_lanes_alone_and_lets_go_of_those_it_loses(make_daily: MakeDaily) -> None:
    daily, _ = await with_many(make_daily, 64, max_concurrency=8)
    of = lane_count(8)
    daily.runner.serve({0, 1})
    await daily.tick()
    mine = shards_of_lane(0, of) | shards_of_lane(1, of)
    assert {shard_of(UserKey("default", run.user_id)) for run in daily.runs.running} <= mine
    assert len(daily.runs.running) == 2
    assert len(daily.runner.queue) > 0
    for run in daily.runs.running:
        run.killed = True
    daily.runner.serve(set())
    await daily.spin()
    assert (len(daily.runs.running), len(daily.runner.queue)) == (0, 0)
    daily.clocks.advance(timedelta(hours=1))
    await daily.tick()
    assert await daily.store.verdicts_on("default", MIDNIGHT.date()) == []


def test_the_machines_own_stopwatch_runs_forward() -> None:
    stopwatch = SystemStopwatch()
    first = stopwatch.elapsed_ms()
    assert first <= stopwatch.elapsed_ms()
