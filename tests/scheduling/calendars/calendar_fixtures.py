"""Definitions of calendars for tests."""

from datetime import UTC, date, datetime
from typing import Any

from cadenza.domain.scheduling.calendars.calendar import Calendar
from cadenza.domain.scheduling.calendars.compile import (
    NO_FACTS,
    CalendarFacts,
    Horizon,
    compile_calendar,
    horizon,
)
from cadenza.domain.scheduling.calendars.definition import (
    CalendarDefinition,
    CalendarParts,
    DateSpan,
    WeeklyHours,
)

NOW = datetime(2026, 11, 19, 12, tzinfo=UTC)
WORKDAYS = ("mon", "tue", "wed", "thu", "fri")
EVERY_DAY = (*WORKDAYS, "sat", "sun")
BERLIN = "Europe/Berlin"
OFFICE = CalendarParts(weekly=(WeeklyHours(WORKDAYS, "08:00", "18:00"),))


def hours(opens: str, closes: str, days: tuple[str, ...] = EVERY_DAY) -> CalendarParts:
    """The same hours on each of the days."""
    return CalendarParts(weekly=(WeeklyHours(days, opens, closes),))


def dates(first: str, last: str | None = None) -> CalendarParts:
    """Whole days."""
    return CalendarParts(dates=(DateSpan(date.fromisoformat(first), date.fromisoformat(last or first)),))


def a_definition(open_during: CalendarParts = OFFICE, **fields: Any) -> CalendarDefinition:
    """A calendar of the tenant acme in Berlin."""
    return CalendarDefinition(
        **{"tenant_id": "acme", "id": "work", "timezone": BERLIN, "open_during": open_during, **fields}
    )


def compiled(
    definition: CalendarDefinition, over: Horizon | None = None, facts: CalendarFacts = NO_FACTS
) -> Calendar:
    """It, compiled at NOW."""
    return compile_calendar(definition, over or horizon(NOW), facts)


def at(written: str) -> datetime:
    """A moment in UTC, as 2027-03-28T01:00."""
    return datetime.fromisoformat(written).replace(tzinfo=UTC)
