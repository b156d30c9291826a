"""A worker loop that runs in the background of a test."""

import asyncio
from collections.abc import Callable
from typing import Any, Self

from tests.scheduling.worker.worker_fixtures import WorkerFixture

from cadenza.adapters.clock import SystemClock
from cadenza.testing import FakeClock

LONGEST_WAIT = 60
"""Seconds of real time after which a test gives up."""


class RunningWorker:
    """A loop that runs in the background until the test stops it, or ends."""

    def __init__(self, fixture: WorkerFixture, **settings: Any) -> None:
        self._clock = fixture.clock
        self.loop = fixture.loop(**settings)

    async def __aenter__(self) -> Self:
        self.task = asyncio.create_task(self.loop.run())
        if isinstance(self._clock, FakeClock):
            await self._clock.advance(0)
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.task.cancel()
            await asyncio.wait({self.task})
        elif not self.task.done():
            await self.stopped()

    async def stopped(self) -> None:
        """Stop it and let time pass until it has ended."""
        self.loop.stop()
        await self.ended()

    async def ended(self) -> None:
        """Let time pass until run() has come back."""
        for _ in range(100):
            if self.task.done() or not isinstance(self._clock, FakeClock):
                break
            await self._clock.advance(1_000)
        await asyncio.wait_for(self.task, LONGEST_WAIT)


def on_manual_clock(**settings: Any) -> WorkerFixture:
    """A worker fixture whose clock the test moves while the loop runs."""
    return WorkerFixture(clock=FakeClock(manual=True), **settings)


def on_system_clock(**settings: Any) -> WorkerFixture:
    """A worker fixture on the system clock."""
    return WorkerFixture(clock=SystemClock(), **settings)


async def until(holds: Callable[[], bool]) -> None:
    """Wait in real time until something holds, however busy the machine is."""
    async with asyncio.timeout(LONGEST_WAIT):
        while not holds():  # noqa: ASYNC110 - what holds may be anything, and nobody sets an event for it
            await asyncio.sleep(0.001)


def other_tasks() -> set[asyncio.Task[Any]]:
    """Every task beside the test's own."""
    return asyncio.all_tasks() - {asyncio.current_task()}
