"""What keeps an endpoint to calendars: only during, never during, and what becomes of a slot while closed."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.calendars.calendar import Calendar, open_in_all
from cadenza.domain.validation import check_moment

KNOWN_AHEAD = timedelta(days=10 * 366)
"""For at least so long calendars are compiled."""


class WhenClosed(StrEnum):
    """What becomes of a slot that falls where a calendar is closed."""

    SKIP = "skip"
    """It is skipped, with a verdict; one for each time that the calendar is closed."""
    RUN_AT_END = "run-at-end"
    """It runs when the calendar opens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarRules:
    """The calendars of an endpoint, those of its job beside them, and its first and last moments."""

    only_during: Calendar | None = None
    never_during: Calendar | None = None
    when_closed: WhenClosed = WhenClosed.SKIP
    starts_at: datetime | None = None
    """Nothing runs before."""
    ends_at: datetime | None = None
    """Nothing runs then or later: the endpoint is finished."""
    job_only_during: Calendar | None = None
    job_never_during: Calendar | None = None
    open_times: Calendar | None = field(init=False, compare=False, repr=False)
    """Where all of the calendars together let it run; None if it has no calendars."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "when_closed", WhenClosed(self.when_closed))
        for name in ("starts_at", "ends_at"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check_moment(name, getattr(self, name)))
        if self.starts_at is not None and self.ends_at is not None and self.starts_at >= self.ends_at:
            raise InvalidRequest("ends_at must be later than starts_at.", "ends_at")
        only = tuple(one for one in (self.only_during, self.job_only_during) if one is not None)
        never = tuple(one for one in (self.never_during, self.job_never_during) if one is not None)
        object.__setattr__(self, "open_times", open_in_all(only, never))

    @property
    def calendars(self) -> tuple[Calendar, ...]:
        """All calendars that they name."""
        named = (self.only_during, self.never_during, self.job_only_during, self.job_never_during)
        return tuple(one for one in named if one is not None)

    def opens_after(self, now: datetime) -> datetime | None:
        """The first moment from now or its start on at which its calendars let it run; None if none is known.

        A calendar of `never_during` that is open for ten years on end is taken to be so for good: what lies
        behind its last span is not known yet, and not open.
        """
        since = max(now, self.starts_at or now)
        opening = since if self.open_times is None else self.open_times.opens_at(since)
        if opening is None:
            return None
        ends = (one.boundaries[-1] for one in (self.never_during, self.job_never_during) if one is not None)
        unknown = any(end <= opening and opening - since >= KNOWN_AHEAD for end in ends)
        return None if unknown else opening

    def why_closed(self, at: datetime) -> str | None:
        """Which calendar closes it at a moment, in words; None if it may run then."""
        for only in (self.only_during, self.job_only_during):
            if only is not None and not only.is_open(at):
                return f"outside of the calendar {only.id}"
        for never in (self.never_during, self.job_never_during):
            if never is not None and never.is_open(at):
                return f"inside the calendar {never.id}"
        return None

    def with_calendar(self, calendar: Calendar) -> "CalendarRules":
        """The same with a new version of a calendar that they name."""
        changed: dict[str, Any] = {
            name: calendar
            for name in ("only_during", "never_during", "job_only_during", "job_never_during")
            if (named := getattr(self, name)) is not None and named.id == calendar.id
        }
        return replace(self, **changed) if changed else self


NO_RULES = CalendarRules()
