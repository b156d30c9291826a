"""A worker whose machine's clock differs from the database's claims and sweeps nothing."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.postgres import Databases, database_url, newest_databases
from tests.scheduling.worker.running_worker import until
from tests.scheduling.worker.test_clock_set_back import SettableClock
from tests.scheduling.worker.worker_fixtures import WorkerFixture

from cadenza.adapters.clock import ClockStopwatch, SystemStopwatch
from cadenza.adapters.stores.memory import MemoryStore
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.baseline import Every
from cadenza.engine.worker.clock_check import ClockCheck
from cadenza.testing import FakeClock, FakeIds, FakeLog

__all__ = ["Databases", "database_url", "newest_databases"]

LEASE_MS = 30_000


@pytest.mark.parametrize(
    ("offset_s", "level"),
    [(0, None), (2, None), (-2, None), (5, "warning"), (-5, "warning"), (60, "error"), (-3_600, "error")],
)
async def test_at_the_start_a_difference_is_warned_of_or_refused(
    database_url: str, offset_s: int, level: str | None
) -> None:
    store, clock, log = PostgresStore(PostgresPool(database_url), FakeIds()), SettableClock(), FakeLog()
    clock.offset = timedelta(seconds=offset_s)
    check = ClockCheck(store=store.endpoints, clock=clock, log=log, lease_ms=LEASE_MS)
    for _ in range(2):  # Said once.
        if level == "error":
            with pytest.raises(Unavailable, match="differ by more than 10 s, a third of CADENZA_LEASE_MS"):
                await check.at_start()
        else:
            await check.at_start()
    await store.close()
    assert [line.level for line in log.lines] == ([] if level is None else [level])
    for line in log.lines:
        assert abs(int(str(line.facts["ahead_ms"])) - offset_s * 1_000) < 1_000


async def test_a_worker_whose_clock_goes_wrong_neither_claims_nor_sweeps_until_it_is_right(
    database_url: str,
) -> None:
    store, clock = PostgresStore(PostgresPool(database_url), FakeIds()), SettableClock()
    worker = WorkerFixture(clock=clock, store=store)
    loop = worker.loop(stopwatch=SystemStopwatch(), lease_ms=1_000, poll_ms=20)
    running = asyncio.create_task(loop.run())
    await worker.add("endpoint", baseline=Every(10))
    await until(lambda: len(worker.dispatcher.executed) > 3)
    clock.offset = timedelta(hours=1)
    await until(lambda: "error" in {line.level for line in worker.log.lines})
    ran = len(worker.dispatcher.executed)
    swept = worker.store.calls["sweep"]
    await asyncio.sleep(0.8)
    assert len(worker.dispatcher.executed) <= ran + 1
    assert worker.store.calls["sweep"] == swept
    clock.offset = timedelta()
    await until(lambda: len(worker.dispatcher.executed) > ran + 3)
    loop.stop()
    await running
    await store.close()


async def test_a_store_without_a_clock_of_its_own_is_always_right() -> None:
    clock = SettableClock()
    clock.offset = timedelta(days=1)
    check = ClockCheck(store=MemoryStore(FakeIds()).endpoints, clock=clock, log=FakeLog(), lease_ms=LEASE_MS)
    await check.at_start()


async def test_leases_are_not_judged_right_after_the_clock_was_set_forward() -> None:
    clock, steady, log = FakeClock(), FakeClock(), FakeLog()
    check = ClockCheck(
        store=MemoryStore(FakeIds()).endpoints,
        clock=clock,
        log=log,
        lease_ms=LEASE_MS,
        stopwatch=ClockStopwatch(steady),
    )
    looks = []
    for step_ms in (0, LEASE_MS, 0, 2_000, -LEASE_MS, 0):
        for both in (clock, steady):
            both.jump(LEASE_MS / 3)
        clock.jump(step_ms)
        looks.append(await check.look())
    assert looks == [True, False, True, True, True, True]
    assert [line.facts["step_ms"] for line in log.lines] == [LEASE_MS]


async def test_leases_are_not_judged_when_the_clock_was_set_back_and_forward_between_two_looks() -> None:
    clock = FakeClock()
    check = ClockCheck(
        store=MemoryStore(FakeIds()).endpoints,
        clock=clock,
        log=FakeLog(),
        lease_ms=LEASE_MS,
        stopwatch=ClockStopwatch(FakeClock()),
    )
    clock.jump(-LEASE_MS)
    check.lease_now()  # A lease is counted from it.
    clock.jump(LEASE_MS)
    assert not await check.look()
    assert await check.look()


class TimedStore:
    """A store whose clock is another one's, and which answers after a while."""

    def __init__(self, theirs: FakeClock, steady: FakeClock) -> None:
        self._theirs, self._steady = theirs, steady
        self.late_ms = 0

    async def database_time(self) -> datetime:
        seen = self._theirs.now()
        for clock in (self._theirs, self._steady):
            clock.jump(self.late_ms)
        return seen


async def test_leases_are_not_counted_from_a_clock_that_was_set_back() -> None:
    clock, theirs, steady = FakeClock(), FakeClock(), FakeClock()
    store: Any = TimedStore(theirs, steady)
    check = ClockCheck(
        store=store, clock=clock, log=FakeLog(), lease_ms=LEASE_MS, stopwatch=ClockStopwatch(steady)
    )

    def pass_time(span_ms: float) -> None:
        for one in (clock, theirs, steady):
            one.jump(span_ms)

    clock.jump(-60_000)
    assert check.lease_now() == clock.now()  # Not looked yet.
    await check.look()
    pass_time(5_000)
    assert check.lease_now() == theirs.now()
    clock.jump(180_000)
    assert check.lease_now() == clock.now()  # A lease that lasts too long protects.
    clock.jump(-180_000)
    store.late_ms = LEASE_MS
    await check.look()  # An answer that took as long as a lease says nothing.
    assert check.lease_now() == theirs.now()
