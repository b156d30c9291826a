"""The system clock, one that pauses, a faster one, and stopwatches."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from time import monotonic

from cadenza.ports.clock import Clock


class SystemClock:
    """The system time."""

    def now(self) -> datetime:
        """The present moment, in UTC."""
        return datetime.now(UTC)

    async def sleep(self, span_ms: float) -> None:
        """Return when that span has passed."""
        await asyncio.sleep(span_ms / 1_000)


class PausingClock(SystemClock):
    """The system time, for loops that pause while their process is idle."""

    def __init__(self, pause: Callable[[float], Awaitable[None]]) -> None:
        self._pause = pause
        """Waits for so many seconds, and until the process is not idle."""

    async def sleep(self, span_ms: float) -> None:
        """Return when that span has passed, and the process is not idle."""
        await self._pause(span_ms / 1_000)


class FastClock:
    """A clock that showed `start` when it `began`, and runs `speed` times as fast as the system clock."""

    def __init__(self, speed: float, start: datetime | None = None, *, began: datetime | None = None) -> None:
        self.speed = speed
        self.began = began or datetime.now(UTC)
        self.start = start or self.began

    def now(self) -> datetime:
        """The present moment, as this clock sees it."""
        return self.start + (datetime.now(UTC) - self.began) * self.speed

    async def sleep(self, span_ms: float) -> None:
        """Return when that span has passed on this clock."""
        await asyncio.sleep(span_ms / 1_000 / self.speed)


class ClockStopwatch:
    """Monotonic time from a clock that is never set back."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def elapsed_ms(self) -> float:
        """Milliseconds since some moment in the past, always the same one."""
        return self._clock.now().timestamp() * 1_000


class SystemStopwatch:
    """The system's monotonic time."""

    def elapsed_ms(self) -> float:
        """Milliseconds since some moment in the past, always the same one."""
        return monotonic() * 1_000
