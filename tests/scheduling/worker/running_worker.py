"""Loops that a test starts, watches and ends."""

import asyncio
from collections.abc import Callable
from typing import Any, Self

from tests.scheduling.worker.worker_fixtures import Corridor

from cadenza.adapters.clock import SystemClock
from cadenza.testing import FakeClock

LONGEST_WAIT = 60
"""Seconds of real time after which a test gives up."""


class Worker:
    """A loop that runs in the background of a test until the test ends it, or leaves."""

    def __init__(self, corridor: Corridor, **settings: Any) -> None:
        self._clock = corridor.clock
        self.loop = corridor.loop(**settings)

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


def by_hand(**settings: Any) -> Corridor:
    """A corridor whose clock a test moves while a loop runs."""
    return Corridor(clock=FakeClock(manual=True), **settings)


def in_real_time(**settings: Any) -> Corridor:
    """A corridor on the machine's own clock."""
    return Corridor(clock=SystemClock(), **settings)


async def until(holds: Callable[[], bool]) -> None:
    """Wait in real time until something holds, however busy the machine is."""
    async with asyncio.timeout(LONGEST_WAIT):
        while not holds():  # noqa: ASYNC110 - what holds may be anything, and nobody sets an event for it
            await asyncio.sleep(0.001)


def others() -> set[asyncio.Task[Any]]:
    """Every task beside the test's own."""
    return asyncio.all_tasks() - {asyncio.current_task()}
