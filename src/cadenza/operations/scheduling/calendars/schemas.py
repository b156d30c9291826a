"""JSON models of calendars, and their conversion to the domain and back."""

from datetime import date
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints

from cadenza.domain.scheduling.calendars.definition import (
    LONGEST_ICS,
    MOST_DATES,
    MOST_HOLIDAYS,
    MOST_HOURS,
    CalendarDefinition,
    CalendarParts,
    DateSpan,
    HolidaySource,
    WeeklyHours,
)
from cadenza.domain.scheduling.calendars.named_rules import NAMED
from cadenza.domain.text_patterns import A_CLOSING_TIME, A_COUNTRY, A_SUBDIVISION, A_TIME_OF_DAY
from cadenza.operations.documented_models import Shape, part
from cadenza.operations.fields import IF_GIVEN, Id, Name, ZoneName

Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
ClosingTime = Annotated[str, StringConstraints(strict=True, pattern=A_CLOSING_TIME)]
OpeningTime = Annotated[str, StringConstraints(strict=True, pattern=A_TIME_OF_DAY)]
IcsText = Annotated[str, StringConstraints(strict=True, max_length=LONGEST_ICS)]


class HoursShape(Shape):
    """Hours on days of the week, by the clocks of the calendar's zone."""

    days: Annotated[list[Weekday], Field(min_length=1, max_length=7, json_schema_extra={"uniqueItems": True})]
    opens: OpeningTime
    """Such as 08:00."""
    closes: ClosingTime
    """Such as 18:00; 24:00 is midnight. If it is not later than `opens`, it is on the next day."""


class HolidaysShape(Shape):
    """The public holidays of a country, or of a part of it."""

    country: Annotated[str, StringConstraints(strict=True, pattern=A_COUNTRY)]
    """Two letters, such as DE."""
    subdivision: Annotated[str, StringConstraints(strict=True, pattern=A_SUBDIVISION)] | None = IF_GIVEN
    """Such as BY."""


class DatesShape(Shape):
    """Whole days, from the first until the last."""

    first: date
    last: date | None = IF_GIVEN
    """The first alone, if it is left out."""


class PartsShape(Shape):
    """Times by what describes them; together they are all times of any of the parts."""

    weekly: Annotated[list[HoursShape], Field(max_length=MOST_HOURS)] | None = IF_GIVEN
    holidays: Annotated[list[HolidaysShape], Field(max_length=MOST_HOLIDAYS)] | None = IF_GIVEN
    dates: Annotated[list[DatesShape], Field(max_length=MOST_DATES)] | None = IF_GIVEN
    ics: IcsText | None = IF_GIVEN
    """The text of an iCalendar file; its events are the times."""

    def to_domain(self) -> CalendarParts:
        """The parts; InvalidRequest if one of them makes no sense."""
        return CalendarParts(
            weekly=tuple(WeeklyHours(tuple(one.days), one.opens, one.closes) for one in self.weekly or ()),
            holidays=tuple(HolidaySource(one.country, one.subdivision) for one in self.holidays or ()),
            dates=tuple(DateSpan(one.first, one.last or one.first) for one in self.dates or ()),
            ics=self.ics,
        )

    @classmethod
    def of(cls, parts: CalendarParts) -> Self:
        """The model of parts."""
        return cls(**shapes_of(parts))


class JobCalendarShape(Shape):
    """The calendars that keep the endpoints of a job, beside those of their own.

    Of a change, what is left out stays as it is, and null takes it away.
    """

    only_during: Id | None = None
    """The id of the calendar in which alone they run."""
    never_during: Id | None = None
    """The id of the calendar in which they never run."""

    @property
    def calendar_ids(self) -> set[str]:
        """The calendars that it names."""
        return {id_ for id_ in (self.only_during, self.never_during) if id_ is not None}

    def changes(self) -> dict[str, Any]:
        """The fields that were given."""
        return {name: getattr(self, name) for name in NAMED if name in self.model_fields_set}


class CalendarFields(PartsShape):
    """When a calendar is open: where any of its parts is, except where an exception is."""

    name: Name | None = IF_GIVEN
    timezone: ZoneName = "UTC"
    """The IANA zone of its hours and days, such as Europe/Berlin."""
    except_during: PartsShape | None = IF_GIVEN
    """When it is closed all the same."""


def shapes_of(parts: CalendarParts) -> dict[str, Any]:
    """The fields of parts; null for what is empty."""
    weekly = [{"days": one.days, "opens": one.opens, "closes": one.closes} for one in parts.weekly]
    holidays = [HolidaysShape(country=one.country, subdivision=one.subdivision) for one in parts.holidays]
    return {
        "weekly": [HoursShape.model_validate(one) for one in weekly] or None,
        "holidays": holidays or None,
        "dates": [DatesShape(first=one.first, last=one.last) for one in parts.dates] or None,
        "ics": parts.ics,
    }


def definition_of(fields: CalendarFields, *, tenant_id: str, calendar_id: str) -> CalendarDefinition:
    """What these fields define; InvalidRequest, with the part at fault, if that makes no sense."""
    exceptions = fields.except_during
    return CalendarDefinition(
        tenant_id=tenant_id,
        id=calendar_id,
        name=fields.name or "",
        timezone=fields.timezone,
        open_during=fields.to_domain(),
        except_during=CalendarParts() if exceptions is None else part("except_during", exceptions.to_domain),
    )
