"""The compilation of a calendar: what its owner wrote, as spans from a year ago to twelve years ahead."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.local_time import (
    DAY,
    Span,
    first_moment,
    last_moment,
    whole_days,
    zone_named,
)
from cadenza.domain.scheduling.calendars.calendar import Calendar, calendar_of, open_in_all
from cadenza.domain.scheduling.calendars.definition import (
    WEEKDAYS,
    CalendarDefinition,
    CalendarParts,
    HolidaySource,
    WeeklyHours,
)

YEAR = timedelta(days=366)
BEHIND, AHEAD = YEAR, 12 * YEAR
COMPILED_ANEW_BEFORE = AHEAD - 30 * DAY
"""With less than this ahead, a calendar is compiled anew: a month later, as zones and holidays change."""


class Horizon(NamedTuple):
    """The time for which a calendar is compiled."""

    since: datetime
    until: datetime

    @property
    def years(self) -> range:
        """Each year of which it has a day."""
        return range(self.since.year - 1, self.until.year + 2)


class CalendarFacts(NamedTuple):
    """What a calendar needs from outside of its definition."""

    holidays: Mapping[HolidaySource, Iterable[date]]
    ics: Mapping[str, Iterable[Span]]
    """The spans of the events of each file."""


class CompiledCalendar(NamedTuple):
    """A calendar as it is stored: what its owner wrote, with its spans until the horizon."""

    definition: CalendarDefinition
    calendar: Calendar
    until: datetime


NO_FACTS = CalendarFacts({}, {})


def horizon(now: datetime) -> Horizon:
    """From a year ago to twelve years ahead."""
    return Horizon(now - BEHIND, now + AHEAD)


def compile_calendar(definition: CalendarDefinition, over: Horizon, facts: CalendarFacts) -> Calendar:
    """The spans in which it is open: those of any part, without those of any exception.

    Days are from local midnight to local midnight. Hours open when clocks first show the time, or a
    later one where it is skipped, and close when they last do. InvalidRequest if it would never be open,
    or has too many spans.
    """
    identity = definition.id, definition.timezone
    opened = calendar_of(*identity, [*_spans(definition.open_during, definition, over, facts)])
    excepted = [*_spans(definition.except_during, definition, over, facts)]
    if not any(begin < end for begin, end in excepted):
        return opened
    left = open_in_all((opened,), (calendar_of(*identity, excepted),))
    assert left is not None, "of two calendars there is a third"
    ends = left.boundaries
    return calendar_of(*identity, [*zip(ends[::2], ends[1::2], strict=True)])


def refuse_never_open(calendar: Calendar, now: datetime) -> None:
    """InvalidRequest if it is not open at any moment from now on."""
    if calendar.opens_at(now) is None:
        raise InvalidRequest(
            f"The calendar {calendar.id} is never open from now on; give it hours or dates that are ahead.",
            "calendar",
        )


def _spans(
    parts: CalendarParts, definition: CalendarDefinition, over: Horizon, facts: CalendarFacts
) -> Iterator[Span]:
    """The spans of all parts, in no order."""
    zone = zone_named(definition.timezone)
    for hours in parts.weekly:
        yield from _weekly_spans(hours, over, zone)
    for source in parts.holidays:
        yield from (whole_days(day, day, zone) for day in facts.holidays[source] if _within(day, over))
    first, last = over.since.date(), over.until.date()
    for one in parts.dates:
        if one.first <= last and one.last >= first:
            yield whole_days(max(one.first, first), min(one.last, last), zone)
    if parts.ics:
        yield from facts.ics[parts.ics]


def _weekly_spans(hours: WeeklyHours, over: Horizon, zone: ZoneInfo) -> Iterator[Span]:
    opens, closes = _since_midnight(hours.opens), _since_midnight(hours.closes)
    if closes <= opens:
        closes += DAY
    weekdays = {WEEKDAYS.index(day) for day in hours.days}
    midnight = datetime.combine(over.since.date() - DAY, time())
    last = datetime.combine(over.until.date() + DAY, time())
    while midnight <= last:
        if midnight.weekday() in weekdays:
            yield first_moment(midnight + opens, zone), last_moment(midnight + closes, zone)
        midnight += DAY


def _since_midnight(written: str) -> timedelta:
    hours, minutes = written.split(":")
    return timedelta(hours=int(hours), minutes=int(minutes))


def _within(day: date, over: Horizon) -> bool:
    return over.since.date() <= day <= over.until.date()
