"""The clock on the wall, and one that runs faster."""

import asyncio
from datetime import UTC, datetime
from time import monotonic

from cadenza.ports.clock import Clock


class SystemClock:
    """The machine's own time."""

    def now(self) -> datetime:
        """The present moment, in UTC."""
        return datetime.now(UTC)

    async def sleep(self, span_ms: float) -> None:
        """Come back when that span has passed."""
        await asyncio.sleep(span_ms / 1_000)


class FastClock:
    """A clock that starts somewhere and then runs so many times as fast: a day in minutes."""

    def __init__(self, speed: float, start: datetime | None = None) -> None:
        self._speed = speed
        self._began = datetime.now(UTC)
        self._start = start or self._began

    def now(self) -> datetime:
        """The present moment, as this clock sees it."""
        return self._start + (datetime.now(UTC) - self._began) * self._speed

    async def sleep(self, span_ms: float) -> None:
        """Come back when that span has passed on this clock."""
        await asyncio.sleep(span_ms / 1_000 / self._speed)


class ClockStopwatch:
    """Steady time by a clock that nobody steps."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def elapsed_ms(self) -> float:
        """Milliseconds since some moment in the past, always the same one."""
        return self._clock.now().timestamp() * 1_000


class SystemStopwatch:
    """The machine's own steady time."""

    def elapsed_ms(self) -> float:
        """Milliseconds since some moment in the past, always the same one."""
        return monotonic() * 1_000
