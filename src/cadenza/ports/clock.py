"""Wall clock, monotonic stopwatch and cron."""

from datetime import datetime
from typing import Protocol

from cadenza.domain.scheduling.governor import CronClock


class Stopwatch(Protocol):
    """Says how long things take, whatever is done to the clock on the wall."""

    def elapsed_ms(self) -> float:
        """Milliseconds since some moment in the past, always the same one."""
        ...


class Clock(Protocol):
    """The only source of the present."""

    def now(self) -> datetime:
        """The present moment, in UTC."""
        ...

    async def sleep(self, span_ms: float) -> None:
        """Come back when that span has passed."""
        ...


class CronCalculator(CronClock, Protocol):
    """Reads five-field cron lines in IANA time zones, with Debian's rules for daylight saving."""

    def next(self, expression: str, after: datetime, timezone: str = "UTC") -> datetime:
        """The first fire strictly after `after`, as a UTC moment."""
        ...

    def check(self, expression: str, timezone: str = "UTC") -> None:
        """Refuse, with InvalidRequest, what is malformed, never fires or names no zone."""
        ...
