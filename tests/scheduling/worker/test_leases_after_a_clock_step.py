"""A lease lasts as long as it was written for, also when the clock of its worker is set back meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

import pytest
from tests.scheduling.worker.call_recorder import once
from tests.scheduling.worker.worker_fixtures import WorkerFixture

from cadenza.adapters.clock import ClockStopwatch
from cadenza.domain.scheduling.run import RunStatus
from cadenza.testing import FakeClock

LEASE_MS = 12_000


class WallClock(FakeClock):
    """A clock that is set back while its sleepers wait for as long as they meant to."""

    def __init__(self, steady: FakeClock) -> None:
        super().__init__()
        self._steady = steady
        self.offset = timedelta()

    def now(self) -> datetime:
        return self._steady.now() + self.offset

    async def sleep(self, span_ms: float) -> None:
        await self._steady.sleep(span_ms)

    def set_back(self, span_ms: float) -> None:
        self.offset -= timedelta(milliseconds=span_ms)


class Worker:
    """A worker whose clock can be set, and what passed while it ran."""

    def __init__(self) -> None:
        self.steady = FakeClock(manual=True)
        self.clock = WallClock(self.steady)
        self.fixture = WorkerFixture(clock=self.clock)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        stopwatch = ClockStopwatch(self.steady)
        loop = self.fixture.loop(stopwatch=stopwatch, lease_ms=LEASE_MS, poll_ms=LEASE_MS, grace_ms=0)
        task = asyncio.create_task(loop.run())
        yield
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    @property
    def warnings(self) -> set[str]:
        return {line.event for line in self.fixture.log.lines if line.level == "warning"}


async def test_a_claim_that_was_answered_after_its_lease_is_not_run() -> None:
    worker = Worker()
    await worker.fixture.add("endpoint")

    async def answer_late() -> None:
        await worker.clock.sleep(1.2 * LEASE_MS)
        worker.clock.set_back(LEASE_MS / 2)

    worker.fixture.store.after["claim_due"] = once(answer_late)
    async with worker.running():
        await worker.steady.advance(1.5 * LEASE_MS)
    (lost,) = [run for run in await worker.fixture.runs() if run.status is RunStatus.ABANDONED]
    assert lost.id not in {claim.run_id for claim in worker.fixture.dispatcher.executed}


async def never() -> None:
    await asyncio.Event().wait()


Disturb = Callable[[Worker], Awaitable[None]]


async def without_an_answer(worker: Worker) -> None:
    worker.fixture.store.before["renew"] = never
    await worker.steady.advance(LEASE_MS / 2)
    worker.clock.set_back(LEASE_MS)


async def with_an_answer(worker: Worker) -> None:
    async def last_answer() -> None:
        worker.clock.set_back(LEASE_MS)
        worker.fixture.store.before["renew"] = never

    worker.fixture.store.after["renew"] = once(last_answer)
    await worker.steady.advance(LEASE_MS / 2)


@pytest.mark.parametrize("disturb", [without_an_answer, with_an_answer])
async def test_a_run_whose_lease_is_not_renewed_any_more_is_stopped_in_time(disturb: Disturb) -> None:
    worker = Worker()
    await worker.fixture.add("endpoint")
    worker.fixture.takes(100 * LEASE_MS)
    async with worker.running():
        await disturb(worker)
        assert len(worker.fixture.dispatcher.executed) == 1
        await worker.steady.advance(LEASE_MS * 5 / 6)
    assert "leases could not be renewed; their runs are cancelled" in worker.warnings
