"""Calendars in a configuration file: their fields, and hours, holidays and dates as texts."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field

from cadenza.domain.scheduling.calendars.definition import (
    MOST_CALENDARS,
    MOST_DATES,
    MOST_HOLIDAYS,
    MOST_HOURS,
    CalendarDefinition,
    CalendarParts,
)
from cadenza.domain.scheduling.calendars.short_forms import (
    DATES_FORM,
    HOURS_FORM,
    dates_as_text,
    dates_in,
    holidays_as_text,
    holidays_in,
    hours_as_text,
    hours_in,
)
from cadenza.operations.fields import IF_GIVEN, Id
from cadenza.operations.scheduling.calendars.schemas import (
    CalendarFields,
    DatesShape,
    HolidaysShape,
    HoursShape,
    PartsShape,
    shapes_of,
)


def _or_text(read: Callable[[str], dict[str, object] | None], form: str) -> Callable[[Any], Any]:
    """What spells a text out, and leaves everything else as it is."""

    def whole(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        found = read(value)
        if found is None:
            raise ValueError(f"must be such as {form}, or have fields")
        return found

    return whole


ConfigHours = Annotated[
    HoursShape, BeforeValidator(_or_text(hours_in, HOURS_FORM), json_schema_input_type=HoursShape | str)
]
ConfigHolidays = Annotated[
    HolidaysShape, BeforeValidator(_or_text(holidays_in, "DE"), json_schema_input_type=HolidaysShape | str)
]
ConfigDates = Annotated[
    DatesShape, BeforeValidator(_or_text(dates_in, DATES_FORM), json_schema_input_type=DatesShape | str)
]
Weekly = Annotated[list[ConfigHours], Field(max_length=MOST_HOURS)]
Holidays = Annotated[list[ConfigHolidays], Field(max_length=MOST_HOLIDAYS)]
Dates = Annotated[list[ConfigDates], Field(max_length=MOST_DATES)]


class ConfigParts(PartsShape):
    """Times by what describes them; together they are all times of any of the parts."""

    weekly: Weekly | None = IF_GIVEN
    """Each may be a text such as `mon-fri 08:00-18:00`."""
    holidays: Holidays | None = IF_GIVEN
    """Each may be a text such as `DE` or `DE-BY`."""
    dates: Dates | None = IF_GIVEN
    """Each may be a text such as `2027-01-02` or `2027-01-02..2027-01-05`."""


class ConfigCalendar(CalendarFields):
    """A calendar: open where any of its parts is, except where an exception is."""

    id: Id
    weekly: Weekly | None = IF_GIVEN
    """Each may be a text such as `mon-fri 08:00-18:00`."""
    holidays: Holidays | None = IF_GIVEN
    """Each may be a text such as `DE` or `DE-BY`."""
    dates: Dates | None = IF_GIVEN
    """Each may be a text such as `2027-01-02` or `2027-01-02..2027-01-05`."""
    except_during: ConfigParts | None = IF_GIVEN
    """When it is closed all the same."""

    @classmethod
    def of_definition(cls, definition: CalendarDefinition) -> Self:
        """The model of a calendar."""
        exceptions = definition.except_during
        return cls.model_construct(
            id=definition.id,
            name=definition.name or None,
            timezone=definition.timezone,
            **shapes_of(definition.open_during),
            except_during=ConfigParts.model_construct(**shapes_of(exceptions)) if exceptions else None,
        )


ConfigCalendars = Annotated[list[ConfigCalendar], Field(max_length=MOST_CALENDARS)]
OF_CALENDAR = ("name", "timezone", "weekly", "holidays", "dates", "ics", "except_during")


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarWords:
    """A calendar as a file has it, in texts; what is empty is None."""

    id: str
    name: str | None
    timezone: str
    weekly: list[str] | None = None
    holidays: list[str] | None = None
    dates: list[str] | None = None
    ics: str | None = None
    except_during: dict[str, Any] | None = None

    @classmethod
    def of(cls, definition: CalendarDefinition) -> Self:
        """The words for a calendar."""
        return cls(
            id=definition.id,
            name=definition.name or None,
            timezone=definition.timezone,
            **_words(definition.open_during),
            except_during=_words(definition.except_during) or None,
        )


def without_ics(definition: CalendarDefinition) -> CalendarWords:
    """The same with the length of an ICS file in its place, for a list of changes."""
    words = CalendarWords.of(definition)
    given = {name: getattr(words, name) for name in ("id", *OF_CALENDAR)}
    exceptions = words.except_during and _with_length(words.except_during)
    return CalendarWords(**{**_with_length(given), "except_during": exceptions})


def _words(parts: CalendarParts) -> dict[str, Any]:
    words: dict[str, Any] = {
        "weekly": list(map(hours_as_text, parts.weekly)),
        "holidays": list(map(holidays_as_text, parts.holidays)),
        "dates": list(map(dates_as_text, parts.dates)),
        "ics": parts.ics,
    }
    return {name: value for name, value in words.items() if value}


def _with_length(words: dict[str, Any]) -> dict[str, Any]:
    if not (ics := words.get("ics")):
        return words
    digest = blake2b(ics.encode(), digest_size=4).hexdigest()
    return {**words, "ics": f"a file of {len(ics):,} characters ({digest})"}
