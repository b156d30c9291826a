"""How days with daily jobs went, in figures."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import NamedTuple

from cadenza.domain.daily.user import DayCounts


class Tally(NamedTuple):
    """How many verdicts of one due minute of a day are which."""

    due_bucket: int
    """The minute of the day at which they were due."""
    counts: DayCounts


class DayTotal(NamedTuple):
    """How many verdicts of a day are which."""

    day: date
    counts: DayCounts


class Waiting(NamedTuple):
    """How many users have no verdict yet, by their next cutoff."""

    users: Mapping[datetime, int]
    known_before: datetime | None = None
    """From this cutoff on nobody was counted any more; None if all were."""


class Missed(NamedTuple):
    """A place among the misses of a day: when one was due, and whose it is."""

    due_bucket: int
    user_id: str


FIRST_MISS = Missed(-1, "")
