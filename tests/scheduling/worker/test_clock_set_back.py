"""A worker whose machine's clock is set back goes on at the same rate, on every store."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.postgres import Databases, database_url, newest_databases
from tests.scheduling.worker.call_recorder import once
from tests.scheduling.worker.running_worker import until
from tests.scheduling.worker.worker_fixtures import WorkerFixture

from cadenza.adapters.clock import SystemClock, SystemStopwatch
from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.stores.memory import MemoryStore
from cadenza.adapters.stores.memory.scheduling.endpoints import MemoryEndpoints
from cadenza.adapters.stores.postgres.endpoints import PostgresEndpoints
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.scheduling.baseline import Cron, Every, Once
from cadenza.domain.scheduling.plan import Source
from cadenza.engine.worker import clock_check
from cadenza.engine.worker.clock_check import ClockCheck, ClockStepWatch
from cadenza.testing import FakeIds

__all__ = ["Databases", "database_url", "newest_databases"]

HOUR = timedelta(hours=1)


class SettableClock(SystemClock):
    """The system's clock, which a test sets."""

    offset = timedelta()

    def now(self) -> datetime:
        return super().now() + self.offset


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    if request.param == "memory":
        yield MemoryStore(FakeIds())
        return
    if request.param == "sqlite":
        await migrate(f"sqlite:///{tmp_path / 'cadenza.db'}")
        store: Any = SqliteStore(SqliteFile(tmp_path / "cadenza.db"), FakeIds())
    else:
        databases: Databases = request.getfixturevalue("newest_databases")
        store = PostgresStore(PostgresPool(await asyncio.to_thread(databases.clean)), FakeIds())
    yield store
    await store.close()


@pytest.fixture
def quick_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock_check, "LOOK_MS", 20)


@pytest.mark.usefixtures("quick_look")
async def test_rates_stay_when_the_clock_is_set_back_again_and_again(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SettableClock()

    async def database_time(_: object) -> datetime:
        return clock.now()

    monkeypatch.setattr(PostgresEndpoints, "database_time", database_time)  # It is on this machine.
    worker = WorkerFixture(clock=clock, store=store)
    names = [f"every{number}" for number in range(20)]
    for name in names:
        await worker.add(name, baseline=Every(100))
    named = worker.at(2 * 3_600_000)
    await worker.add("once", baseline=Once(named), next_run_at=named, next_source=Source.BASELINE_ONCE)
    await worker.add("cron", baseline=Cron("* * * * *"), in_ms=60_000, next_source=Source.BASELINE_CRON)
    loop = worker.loop(stopwatch=SystemStopwatch(), claim_ahead_ms=50, poll_ms=200, lease_ms=600_000)
    running = asyncio.create_task(loop.run())

    def all_ran(times: int) -> bool:
        return all(ran.count(name) >= times for name in names)

    ran = _Counted(worker)
    await until(lambda: all_ran(3))
    for step in (1, 2):
        clock.offset -= HOUR
        ran.forget()
        await until(lambda: all_ran(5))
        (warning,) = [line for line in worker.log.lines if line.event.startswith("the clock was set back")][
            step - 1 :
        ]
        assert abs(int(str(warning.facts["step_ms"])) - 3_600_000) < 5_000
    loop.stop()
    await running
    assert (await worker.endpoint("once")).next_run_at == named
    planned = (await worker.endpoint("cron")).next_run_at
    assert planned is not None
    assert planned <= clock.now() + timedelta(seconds=61)


class _Counted:
    """How often endpoints ran since it was last told to forget."""

    def __init__(self, worker: WorkerFixture) -> None:
        self._worker = worker
        self._since = 0

    def forget(self) -> None:
        self._since = len(self._worker.dispatcher.executed)

    def count(self, name: str) -> int:
        executed = self._worker.dispatcher.executed[self._since :]
        return sum(claim.endpoint.name == name for claim in executed)


def test_steps_forward_and_small_ones_are_none() -> None:
    clock, elapsed = SettableClock(), SystemStopwatch()
    watch = ClockStepWatch(store=None, clock=clock, stopwatch=elapsed, cron=None, log=WorkerFixture().log)  # type: ignore[arg-type]
    for offset_s in (3_600, 3_596, 3_600):
        clock.offset = timedelta(seconds=offset_s)
        assert watch.step() is None
    clock.offset -= timedelta(seconds=30)
    step = watch.step()
    assert step is not None
    assert abs(step.total_seconds() - 30) < 1
    assert watch.step() is None


@pytest.mark.parametrize(("ahead", "moved"), [(timedelta(), 1), (HOUR, 0)])
async def test_nothing_is_planned_anew_by_a_clock_that_differs_from_the_databases(
    ahead: timedelta, moved: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixture = WorkerFixture()
    await fixture.add(baseline=Every(1_000), in_ms=3_600_000, next_source=Source.BASELINE_INTERVAL)

    async def database_time(_: object) -> datetime:
        return fixture.clock.now() + ahead

    monkeypatch.setattr(MemoryEndpoints, "database_time", database_time)
    watched: dict[str, Any] = {"store": fixture.store.endpoints, "clock": fixture.clock, "log": fixture.log}
    stopwatch = SystemStopwatch()
    check = ClockCheck(**watched, stopwatch=stopwatch, lease_ms=30_000)
    watch = ClockStepWatch(**watched, stopwatch=stopwatch, cron=CronsimCron(), check=check)
    before = (await fixture.endpoint()).next_run_at
    await watch.plan_anew(HOUR)
    assert ((await fixture.endpoint()).next_run_at != before) is bool(moved)


@pytest.mark.parametrize("minutes", [-1, 60])
async def test_a_sweep_that_waits_takes_no_lease_that_protects_when_its_turn_comes(
    store: Any, minutes: int
) -> None:
    fixture = WorkerFixture(store=store, lease_ms=30_000)
    await fixture.add()
    (claim,) = await fixture.claim(1)
    fixture.clock.jump(0 if minutes > 0 else 30_001)

    async def set_clock() -> None:
        fixture.clock.jump(minutes * 60_000)

    fixture.store.before["sweep"] = once(set_clock)
    assert await fixture.sweeper.sweep() == []
    assert (await fixture.only_run()).id == claim.run_id
    assert (await fixture.only_run()).status is None


async def test_what_ran_while_a_step_was_worked_on_is_not_planned_again() -> None:
    fixture = WorkerFixture()
    await fixture.add(baseline=Every(HOUR // timedelta(milliseconds=1)))
    watch = ClockStepWatch(
        store=fixture.store.endpoints,
        clock=fixture.clock,
        stopwatch=SystemStopwatch(),
        cron=CronsimCron(),
        log=fixture.log,
    )

    async def answer_late() -> None:
        fixture.clock.jump(2_000)
        await fixture.tick()

    fixture.store.before["amend_ahead"] = once(answer_late)
    await watch.plan_anew(HOUR)
    ran = (await fixture.only_run()).started_at
    assert ran is not None
    assert (await fixture.endpoint()).next_run_at == ran + HOUR
