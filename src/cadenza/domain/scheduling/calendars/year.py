"""A year of a calendar, by the days and the clocks of its zone."""

from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from cadenza.domain.local_time import (
    DAY,
    ClockChange,
    Span,
    clock_changes,
    whole_days,
    zone_named,
)
from cadenza.domain.scheduling.calendars.calendar import Calendar

HOUR = timedelta(hours=1)


class OpenHours(NamedTuple):
    """A part of a day, by the clocks of the zone: from 08:00 to 18:00, or to 24:00."""

    opens: str
    closes: str


class CalendarDay(NamedTuple):
    """A day on which a calendar is open."""

    date: date
    hours: tuple[OpenHours, ...]
    open_for: timedelta
    """How long it is open on that day, which may have 23 or 25 hours."""


class CalendarYear(NamedTuple):
    """The days of a year on which a calendar is open, and when the clocks of its zone change."""

    days: list[CalendarDay]
    changes: list[ClockChange]


def year_of(calendar: Calendar, year: int) -> CalendarYear:
    """A year of a calendar, from local midnight to local midnight."""
    zone = zone_named(calendar.timezone)
    since, until = whole_days(date(year, 1, 1), date(year, 12, 31), zone)
    first = date(year, 1, 1)
    days = (first + number * DAY for number in range((date(year + 1, 1, 1) - first).days))
    found = (_day(calendar, day, zone) for day in days)
    return CalendarYear([day for day in found if day.hours], clock_changes(zone, since, until))


def _day(calendar: Calendar, day: date, zone: ZoneInfo) -> CalendarDay:
    begin, end = whole_days(day, day, zone)
    spans = [(max(since, begin), min(until, end)) for since, until in calendar.spans_between(begin, end)]
    hours = tuple(OpenHours(_shown(since, zone), _closing(since, until, end, zone)) for since, until in spans)
    return CalendarDay(day, hours, sum((until - since for since, until in spans), timedelta()))


def _closing(since: datetime, until: datetime, end: datetime, zone: ZoneInfo) -> str:
    return "24:00" if until == end and since < until else _shown(until, zone)


def _shown(at: datetime, zone: ZoneInfo) -> str:
    local = at.astimezone(zone)
    return f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"


def span_of_year(calendar: Calendar, year: int) -> Span:
    """When a year begins and ends by the clocks of the zone."""
    begin, end = whole_days(date(year, 1, 1), date(year, 12, 31), zone_named(calendar.timezone))
    return begin.astimezone(UTC), end.astimezone(UTC)
