"""A clock for tests: it stands still until a test or a sleep moves it."""

import asyncio
from datetime import UTC, datetime
from heapq import heappop, heappush

from cadenza.domain.validation import check_moment, milliseconds

NEW_YEAR = datetime(2025, 1, 1, tzinfo=UTC)
YIELDS = 50
"""How often other tasks may run before time moves on: more than any chain of awaits in the engine."""


class FakeClock:
    """A clock that only a test moves.

    By default a sleep moves it: nothing else happens meanwhile, and no time is
    lost. With `manual=True` a sleep lasts until `advance` has passed its end,
    so that several tasks can sleep side by side.
    """

    def __init__(self, start: datetime = NEW_YEAR, *, manual: bool = False) -> None:
        self._now = check_moment("start", start)
        self._manual = manual
        self._sleepers: list[tuple[datetime, int, asyncio.Future[None]]] = []
        self._count = 0

    def now(self) -> datetime:
        """The moment it was last moved to."""
        return self._now

    async def sleep(self, span_ms: float) -> None:
        """Move on by so many milliseconds or, if manual, wait until `advance` has."""
        until = self._now + milliseconds(1) * span_ms
        if not self._manual:
            self._now = max(self._now, until)
            return
        self._count += 1
        sleeper: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heappush(self._sleepers, (until, self._count, sleeper))
        await sleeper

    async def advance(self, span_ms: float) -> None:
        """Let time pass, and wake every sleeper at its own moment and in order."""
        until = self._now + milliseconds(1) * span_ms
        await self._let_tasks_run()
        while self._sleepers and self._sleepers[0][0] <= until:
            moment, _, sleeper = heappop(self._sleepers)
            self._now = max(self._now, moment)
            if not sleeper.done():
                sleeper.set_result(None)
            await self._let_tasks_run()
        self._now = max(self._now, until)
        await self._let_tasks_run()

    def jump(self, span_ms: float) -> None:
        """Step the clock, forth or back, as a correction of the machine's time would; no sleeper wakes."""
        self._now += milliseconds(1) * span_ms

    async def _let_tasks_run(self) -> None:
        for _ in range(YIELDS):
            await asyncio.sleep(0)
