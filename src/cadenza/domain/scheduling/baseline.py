"""The schedule an endpoint's owner chose: Every, Cron, Once, or day parts with a cadence each."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, assert_never

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.calendars.calendar import Calendar, open_in_all
from cadenza.domain.validation import check_duration_ms, check_moment, check_text, convert_to_utc


@dataclass(frozen=True, slots=True)
class Every:
    """A fixed interval, measured from the start of the last run."""

    interval_ms: int

    def __post_init__(self) -> None:
        check_duration_ms("interval_ms", self.interval_ms)


@dataclass(frozen=True, slots=True)
class Cron:
    """A cron line in a time zone. Not parsed here: callers check it with the cron port."""

    expression: str
    timezone: str = "UTC"

    def __post_init__(self) -> None:
        if not check_text("expression", self.expression).strip():
            raise InvalidRequest("expression must have five fields.", "expression")
        check_text("timezone", self.timezone)


@dataclass(frozen=True, slots=True)
class Once:
    """One moment; when it has been served, the endpoint is finished."""

    at: datetime

    def __post_init__(self) -> None:
        check_moment("at", self.at)
        convert_to_utc(self, "at")


Cadence = Every | Cron
"""A schedule that goes on: what a day part has."""
MOST_PARTS = 16


@dataclass(frozen=True, slots=True)
class DayPart:
    """The cadence while a calendar is open."""

    calendar: Calendar
    cadence: Cadence


class CadenceInForce(NamedTuple):
    """A cadence, and when it is in force."""

    cadence: Cadence
    open_times: Calendar
    """Where the calendar of its part is open and those of the parts before it are not."""


@dataclass(frozen=True, slots=True)
class DayParts:
    """Cadences by calendar: the first part whose calendar is open counts, and otherwise another cadence."""

    parts: tuple[DayPart, ...]
    otherwise: Cadence
    in_turn: tuple[CadenceInForce, ...] = field(init=False, compare=False, repr=False)
    """The cadences of the parts and, last, the other one; of any moment one alone is in force."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        if not 1 <= len(self.parts) <= MOST_PARTS:
            raise InvalidRequest(f"Day parts need between 1 and {MOST_PARTS} parts.", "parts")
        for cadence in (*(part.cadence for part in self.parts), self.otherwise):
            if not isinstance(cadence, Every | Cron):
                raise InvalidRequest("A day part needs an interval or a cron expression.", "parts")
        calendars = self.calendars
        if len({one.id for one in calendars}) < len(calendars):
            raise InvalidRequest("Two day parts name the same calendar: only the first would count.", "parts")
        open_times = [open_in_all((one,), calendars[:place]) for place, one in enumerate(calendars)]
        cadences = (*(part.cadence for part in self.parts), self.otherwise)
        whole = zip(cadences, (*open_times, open_in_all((), calendars)), strict=True)
        in_turn = tuple(CadenceInForce(cadence, times) for cadence, times in whole if times is not None)
        object.__setattr__(self, "in_turn", in_turn)

    @property
    def calendars(self) -> tuple[Calendar, ...]:
        """The calendars that its parts name."""
        return tuple(part.calendar for part in self.parts)

    def with_calendar(self, calendar: Calendar) -> "DayParts":
        """The same with a new version of a calendar that a part names."""
        if all(one.id != calendar.id or one is calendar for one in self.calendars):
            return self
        parts = (
            DayPart(calendar, one.cadence) if one.calendar.id == calendar.id else one for one in self.parts
        )
        return DayParts(tuple(parts), self.otherwise)


Baseline = Every | Cron | Once | DayParts
"""The rules of the next run."""


def cadences_of(baseline: Baseline) -> tuple[Cadence, ...]:
    """All cadences of a baseline; none of one that runs once."""
    match baseline:
        case Every() | Cron():
            return (baseline,)
        case DayParts():
            return tuple(one.cadence for one in baseline.in_turn)
        case Once():
            return ()
    assert_never(baseline)


def cadence_at(baseline: Baseline, moment: datetime) -> Cadence | None:
    """The cadence in force at a moment; None for a baseline that runs once."""
    match baseline:
        case Every() | Cron():
            return baseline
        case DayParts():
            return next((one.cadence for one in baseline.in_turn if one.open_times.is_open(moment)), None)
        case Once():
            return None
    assert_never(baseline)


def interval_at(baseline: Baseline, moment: datetime) -> int | None:
    """The interval in force at a moment, in milliseconds; None where none is."""
    if type(baseline) is Every:  # Most are, and this is asked for each run.
        return baseline.interval_ms
    cadence = cadence_at(baseline, moment)
    return cadence.interval_ms if isinstance(cadence, Every) else None
