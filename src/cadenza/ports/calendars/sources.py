"""What calendars are compiled from: the holidays of countries, and the events of iCalendar files."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date, datetime
from typing import Protocol

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.local_time import Span
from cadenza.domain.scheduling.calendars.compile import (
    CalendarFacts,
    CompiledCalendar,
    Horizon,
    compile_calendar,
    horizon,
    refuse_never_open,
)
from cadenza.domain.scheduling.calendars.definition import CalendarDefinition, HolidaySource


class CalendarSources(Protocol):
    """Dates and spans from outside of a calendar's definition.

    Both methods take as long as a file or a country needs, a few seconds at most: call them in a thread.
    """

    def holidays(self, source: HolidaySource, years: Iterable[int]) -> list[date]:
        """The public holidays of these years, in order.

        InvalidRequest if the country or its part is not known.
        """
        ...

    def ics(self, text: str, timezone: str, over: Horizon) -> list[Span]:
        """The spans of all events of a file that overlap the horizon.

        Days without times, and times without a zone, are those of the given zone. InvalidRequest in one
        sentence if the text is no iCalendar file, or has more events or recurrences than can be taken.
        """
        ...


def compile_definition(
    definition: CalendarDefinition, now: datetime, sources: CalendarSources
) -> CompiledCalendar:
    """A calendar compiled from a year ago to twelve years ahead.

    InvalidRequest if it cannot be compiled, or is never open from now on. It may take a few seconds: call
    it in a thread.
    """
    over = horizon(now)
    calendar = compile_calendar(definition, over, _facts_of(definition, over, sources))
    refuse_never_open(calendar, now)
    return CompiledCalendar(definition, calendar, over.until)


def _facts_of(definition: CalendarDefinition, over: Horizon, sources: CalendarSources) -> CalendarFacts:
    """All that the compilation of a calendar needs from outside of it."""
    holidays, ics = {}, {}
    for source in definition.holiday_sources:
        with _at("holidays", is_open=source in definition.open_during.holidays):
            holidays[source] = sources.holidays(source, over.years)
    for text in definition.ics_texts:
        with _at("ics", is_open=text == definition.open_during.ics):
            ics[text] = sources.ics(text, definition.timezone, over)
    return CalendarFacts(holidays=holidays, ics=ics)


@contextmanager
def _at(part: str, *, is_open: bool) -> Iterator[None]:
    """Let a refusal name the part of the definition that is at fault."""
    try:
        yield
    except InvalidRequest as problem:
        field = part if is_open else f"except_during.{part}"
        raise InvalidRequest(problem.message, field) from None
