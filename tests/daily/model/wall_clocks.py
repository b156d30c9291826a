"""What wall clocks show, step by step, and what follows for local days; it computes with no offset."""

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

DAY, QUARTER, MINUTE = timedelta(days=1), timedelta(minutes=15), timedelta(minutes=1)


class Shown(NamedTuple):
    """What a wall clock shows at the quarters of a UTC day; it is set between none of them."""

    walls: list[datetime]
    dates: frozenset[date]
    latest: datetime


@cache
def shown(zone: str, utc_day: date) -> Shown:
    """Read off at each quarter of an hour."""
    begins = datetime.combine(utc_day, time(), UTC)
    walls = [wall(begins + number * QUARTER, zone) for number in range(96)]
    last_minutes = [one + QUARTER - MINUTE for one in walls]
    return Shown(walls, frozenset(one.date() for one in walls), max(last_minutes))


@cache
def zone_named(zone: str) -> ZoneInfo:
    return ZoneInfo(zone)


def wall(at: datetime, zone: str) -> datetime:
    """What a wall clock shows."""
    return at.astimezone(zone_named(zone)).replace(tzinfo=None, fold=0)


def exists(day: date, zone: str) -> bool:
    """Whether any clock of the zone shows this date at all."""
    return any(day in shown(zone, utc_day).dates for utc_day in around(day))


def first_showing(at: datetime, zone: str) -> datetime:
    """The first minute at which a wall clock shows this time, or has jumped over it."""
    for utc_day in around(at.date()):
        if shown(zone, utc_day).latest >= at:
            return next(found for found in _searched(at, zone, utc_day) if found)
    raise AssertionError(f"{zone} never shows {at}")


def _searched(at: datetime, zone: str, utc_day: date) -> Iterator[datetime | None]:
    """By quarters of an hour: a clock that shows a later time at the beginning of one has jumped."""
    begins = datetime.combine(utc_day, time(), UTC)
    for number, first in enumerate(shown(zone, utc_day).walls):
        into = max(at - first, timedelta())
        yield begins + number * QUARTER + into if into < QUARTER else None


def around(day: date) -> Iterable[date]:
    """The UTC days in which a local date can lie."""
    return (day - DAY, day, day + DAY)


class Terms(NamedTuple):
    """By when a user is to be served, as their owner asked."""

    due: time
    zone: str = "UTC"


@cache
def cutoff(terms: Terms, day: date) -> datetime | None:
    """When a wall clock first shows the due time of a date, or jumps over it; None for no such date."""
    if not exists(day, terms.zone):
        return None
    return first_showing(datetime.combine(day, terms.due), terms.zone)


class Hours(NamedTuple):
    """A calendar: open on these dates between two times of its zone's wall clocks."""

    zone: str
    dates: frozenset[date]
    since: time = time()
    until: time | None = None
    """Midnight, if there is none."""

    def open(self, day: date, at: time) -> bool:
        """Whether it is open on a date at a time of its own wall clocks."""
        return day in self.dates and self.since <= at and (self.until is None or at < self.until)
