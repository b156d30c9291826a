"""Cron lines, read by a library behind this port."""

from datetime import datetime
from typing import Protocol

from cadenza.domain.scheduling.governor import CronClock


class Cron(CronClock, Protocol):
    """Reads five-field cron lines in IANA time zones, with Debian's rules for daylight saving."""

    def next(self, expression: str, after: datetime, timezone: str = "UTC") -> datetime:
        """The first fire strictly after `after`, as a UTC moment."""
        ...

    def check(self, expression: str, timezone: str = "UTC") -> None:
        """Refuse, with InvalidRequest, what is malformed, never fires or names no zone."""
        ...
