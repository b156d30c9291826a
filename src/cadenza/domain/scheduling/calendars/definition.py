"""What people write to define a calendar: weekly hours, holidays, dates, an ICS file, and exceptions."""

import re
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.local_time import zone_named
from cadenza.domain.text_patterns import A_CLOSING_TIME, A_COUNTRY, A_SUBDIVISION
from cadenza.domain.validation import check_id, check_text, convert_to_utc, quoted

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MOST_CALENDARS = 200
"""How many calendars a tenant may have."""
MOST_HOURS, MOST_HOLIDAYS, MOST_DATES = 28, 20, 4_000
"""How many entries of each part a calendar may have."""
LONGEST_ICS = 256 * 1024
LONGEST_NAME = 200
TIME_OF_DAY = r"([01][0-9]|2[0-3]):[0-5][0-9]|24:00"


@dataclass(frozen=True, slots=True)
class WeeklyHours:
    """Hours on days of the week, by the clocks of the calendar's zone.

    Where they do not close later than they open, they go over midnight, into the next day.
    """

    days: tuple[str, ...]
    opens: str
    closes: str
    """24:00 is the midnight at the end of the day."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "days", tuple(self.days))
        if not self.days or not set(WEEKDAYS).issuperset(self.days) or len({*self.days}) < len(self.days):
            raise InvalidRequest(f"days must be some of {', '.join(WEEKDAYS)}, each once.", "days")
        for name, latest in (("opens", "23:59"), ("closes", "24:00")):
            written = getattr(self, name)
            if not re.fullmatch(A_CLOSING_TIME, written) or written > latest:
                raise InvalidRequest(f"{name} must be a time such as 08:30, until {latest}.", name)


@dataclass(frozen=True, slots=True)
class HolidaySource:
    """The public holidays of a country, or of one of its parts."""

    country: str
    """Two letters, such as DE."""
    subdivision: str | None = None
    """Such as BY; None for those of the whole country."""

    def __post_init__(self) -> None:
        if not re.fullmatch(A_COUNTRY, self.country):
            raise InvalidRequest(
                f"country must be two letters such as DE, not {quoted(self.country)}.", "country"
            )
        if self.subdivision is not None and not re.fullmatch(A_SUBDIVISION, self.subdivision):
            raise InvalidRequest("subdivision must be a code such as BY.", "subdivision")


@dataclass(frozen=True, slots=True)
class DateSpan:
    """Whole days, from the first until the last."""

    first: date
    last: date

    def __post_init__(self) -> None:
        if self.last < self.first:
            raise InvalidRequest("last must not be earlier than first.", "last")


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarParts:
    """Times by what describes them; together they are all times of any of the parts."""

    weekly: tuple[WeeklyHours, ...] = ()
    holidays: tuple[HolidaySource, ...] = ()
    dates: tuple[DateSpan, ...] = ()
    ics: str | None = None
    """The text of an iCalendar file."""

    def __post_init__(self) -> None:
        for name, most in (("weekly", MOST_HOURS), ("holidays", MOST_HOLIDAYS), ("dates", MOST_DATES)):
            object.__setattr__(self, name, tuple(getattr(self, name)))
            if len(getattr(self, name)) > most:
                raise InvalidRequest(f"{name} must have at most {most:,} entries.", name)
        if self.ics is not None:
            check_text("ics", self.ics, longest=LONGEST_ICS)

    def __bool__(self) -> bool:
        return bool(self.weekly or self.holidays or self.dates or self.ics)


NO_PARTS = CalendarParts()


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarDefinition:
    """A calendar of a tenant: open where any of its parts is, except where an exception is."""

    tenant_id: str
    id: str
    name: str = ""
    timezone: str = "UTC"
    open_during: CalendarParts = NO_PARTS
    except_during: CalendarParts = NO_PARTS
    created_at: datetime | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        check_id("calendar_id", self.id)
        check_text("name", self.name, longest=LONGEST_NAME)
        convert_to_utc(self, "created_at")
        zone_named(self.timezone)
        if not self.open_during:
            raise InvalidRequest(
                "A calendar needs weekly, holidays, dates or ics, which say when it is open.", "weekly"
            )

    @property
    def holiday_sources(self) -> tuple[HolidaySource, ...]:
        """All holidays that it names, each once."""
        return tuple(dict.fromkeys((*self.open_during.holidays, *self.except_during.holidays)))

    @property
    def ics_texts(self) -> tuple[str, ...]:
        """All iCalendar files of it, each once."""
        texts = (self.open_during.ics, self.except_during.ics)
        return tuple(dict.fromkeys(text for text in texts if text))


def write_definition(definition: CalendarDefinition) -> dict[str, Any]:
    """It as a JSON document, without its tenant and id."""
    document = _write_parts(definition.open_during)
    if definition.except_during:
        document["except_during"] = _write_parts(definition.except_during)
    return {"name": definition.name, "timezone": definition.timezone, **document}


def read_definition(document: dict[str, Any], *, tenant_id: str, calendar_id: str) -> CalendarDefinition:
    """The definition of a document; InvalidRequest if a part of it is not as it must be."""
    return CalendarDefinition(
        tenant_id=tenant_id,
        id=calendar_id,
        name=document.get("name") or "",
        timezone=document.get("timezone") or "UTC",
        open_during=read_parts(document),
        except_during=read_parts(document.get("except_during") or {}),
    )


def read_parts(document: dict[str, Any]) -> CalendarParts:
    """The parts of a document; InvalidRequest if one of them is not as it must be."""
    return CalendarParts(
        weekly=tuple(WeeklyHours(**one) for one in document.get("weekly") or ()),
        holidays=tuple(HolidaySource(**one) for one in document.get("holidays") or ()),
        dates=tuple(DateSpan(_date(one["first"]), _date(one["last"])) for one in document.get("dates") or ()),
        ics=document.get("ics"),
    )


def _write_parts(parts: CalendarParts) -> dict[str, Any]:
    document: dict[str, Any] = {
        "weekly": [{"days": [*one.days], "opens": one.opens, "closes": one.closes} for one in parts.weekly],
        "holidays": [{"country": one.country, "subdivision": one.subdivision} for one in parts.holidays],
        "dates": [{"first": one.first.isoformat(), "last": one.last.isoformat()} for one in parts.dates],
        "ics": parts.ics,
    }
    return {name: value for name, value in document.items() if value}


def _date(value: date | str) -> date:
    return date.fromisoformat(value) if isinstance(value, str) else value
