"""Users with a daily window, the verdicts of their days, and the results of their runs."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import NamedTuple

from cadenza.domain.daily.keys import DAILY, DailyKey, check_programme_id, daily_key
from cadenza.domain.daily.window import DAY, cutoff, minute_of_day
from cadenza.domain.daily.zones import UTC_NAME, check_timezone, date_exists
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.job_failure import ErrorClass
from cadenza.domain.validation import check_text, convert_to_utc

LONGEST_USER_ID = 200
A_DUE_TIME = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")
DUE_TIME_FORM = "HH:MM, such as 07:30"


class DayStatus(StrEnum):
    """The verdict of a user's day."""

    SUCCESS = "success"
    CUTOFF_REACHED = "cutoff_reached"


class Cause(StrEnum):
    """Why a user was not served at a cutoff."""

    DOWN = "down"
    """No process served this user."""
    STALLED = "stalled"
    """The process that served this user was suspended or overloaded."""
    CLOCK = "clock"
    """The clock could not be trusted."""
    STORE = "store"
    """The database could not be reached."""


class LocalDue(NamedTuple):
    """A due time on the clocks of a zone."""

    due: time
    timezone: str = UTC_NAME

    def cutoff(self, day: date) -> datetime:
        """The cutoff of a date."""
        return cutoff(self.due, day, timezone=self.timezone)

    def has(self, day: date) -> bool:
        """Whether the zone has this date; one that it leaves out is not owed."""
        return date_exists(day, self.timezone)

    def next_from(self, day: date) -> date:
        """The first date from this one on that the zone has."""
        while not self.has(day):
            day += DAY
        return day


class DueChange(NamedTuple):
    """Another due time, and the first day it applies to."""

    from_date: date
    due: time
    timezone: str = UTC_NAME

    @property
    def local_due(self) -> LocalDue:
        """The due time with its zone."""
        return LocalDue(self.due, self.timezone)


class Enrollment(NamedTuple):
    """A user to be served daily, and the time by which."""

    key: DailyKey
    due: time
    timezone: str | None = None
    """None keeps the zone that the user has; a new user is served in UTC then."""

    def local_due(self, present: str = UTC_NAME) -> LocalDue:
        """The due time with its zone, given the one that the user has."""
        return LocalDue(self.due, self.timezone or present)


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyUser:
    """A user's durable record in a programme. All days before `next_date` have their verdicts, or owe none.

    What holds for `next_date` is fixed when it becomes the next one: neither settings nor a later version
    of the zone's rules move it.
    """

    tenant_id: str = "default"
    programme_id: str = DAILY
    user_id: str
    next_date: date
    """The first day without a verdict: a date in the zone."""
    due: time
    """The due time of that day, on the clocks of the zone."""
    timezone: str = UTC_NAME
    next_cutoff: datetime
    opens_at: datetime
    """When the window of that day opens."""
    previous_cutoff: datetime | None = None
    """The cutoff of the day before; a new due time sets none that is not later."""
    changes: tuple[DueChange, ...] = ()
    """Due times of later days, in the order of the days."""
    added_at: datetime | None = None
    last_date: date | None = None
    """The newest day that has a verdict."""
    status: DayStatus | None = None
    """That verdict."""
    last_run_at: datetime | None = None
    """When a run last succeeded in time."""

    def __post_init__(self) -> None:
        convert_to_utc(self, "next_cutoff", "opens_at", "previous_cutoff", "added_at", "last_run_at")

    @property
    def key(self) -> DailyKey:
        """Its identity."""
        return DailyKey(self.tenant_id, self.programme_id, self.user_id)

    @property
    def local_due(self) -> LocalDue:
        """The due time of the next day, with its zone."""
        return LocalDue(self.due, self.timezone)

    @property
    def wanted(self) -> LocalDue:
        """The due time that its owner asked for last, with its zone."""
        return self.changes[-1].local_due if self.changes else self.local_due

    @property
    def wanted_due(self) -> time:
        """The due time that its owner asked for last."""
        return self.wanted.due

    def local_due_on(self, day: date) -> LocalDue:
        """The due time of a day that has no verdict yet, with its zone."""
        return due_among(self.changes, day, self.local_due)

    def due_on(self, day: date) -> time:
        """The due time of such a day."""
        return self.local_due_on(day).due

    def has(self, day: date) -> bool:
        """Whether such a day is owed: its zone has it, and the cutoff of no later day comes first."""
        due = self.local_due_on(day)
        return due.has(day) and all(
            due.cutoff(day) < change.local_due.cutoff(change.from_date)
            for change in self.changes
            if change.from_date > day
        )

    def cutoff_on(self, day: date) -> datetime:
        """The cutoff of such a day."""
        return self.next_cutoff if day == self.next_date else self.local_due_on(day).cutoff(day)

    def opens_on(self, day: date, window: timedelta) -> datetime:
        """When the window of such a day opens, if later ones than the next one last so long."""
        return self.opens_at if day == self.next_date else self.cutoff_on(day) - window


class Verdict(NamedTuple):
    """The verdict of a user's day; written once, and never changed."""

    tenant_id: str
    programme_id: str
    user_id: str
    service_date: date
    status: DayStatus
    due: time
    decided_at: datetime
    late: bool = False
    """Whether the user was not served at the cutoff."""
    cause: Cause | None = None
    """The cause, if it is late."""

    @property
    def due_bucket(self) -> int:
        """The minute of the day at which it was due."""
        return minute_of_day(self.due)


class DayCounts(NamedTuple):
    """A day's verdicts, counted by status."""

    success: int = 0
    cutoff_reached: int = 0
    late: int = 0
    """How many of `cutoff_reached` were late: the users were not served at the cutoff."""
    in_gaps: int = 0
    """How many of `late` lie in gaps, and have no verdicts of their own."""

    def with_gaps(self, users: int) -> "DayCounts":
        """The counts with so many more users in whose gaps the day lies."""
        success, cutoff_reached, late, in_gaps = self
        return DayCounts(success, cutoff_reached + users, late + users, in_gaps + users)

    @classmethod
    def of(cls, rows: Iterable[tuple[str, bool, int]]) -> "DayCounts":
        """Added up from counts by status and lateness."""
        counts = dict.fromkeys(DayStatus, 0)
        late = 0
        for status, was_late, count in rows:
            counts[DayStatus(status)] += count
            late += count if was_late else 0
        return cls(counts[DayStatus.SUCCESS], counts[DayStatus.CUTOFF_REACHED], late)


class DailyGap(NamedTuple):
    """Days without service that are too old to get verdicts of their own, first and last included."""

    tenant_id: str
    programme_id: str
    user_id: str
    from_date: date
    to_date: date
    noticed_at: datetime
    cause: Cause

    @property
    def days(self) -> int:
        """How many days it lasted."""
        return (self.to_date - self.from_date).days + 1


class Finalization(NamedTuple):
    """The user's record after one or more days got their verdicts, and all that is written with it."""

    user: DailyUser
    verdicts: tuple[Verdict, ...]
    gap: DailyGap | None = None
    resets_conversation: bool = True

    @property
    def fresh_from(self) -> datetime | None:
        """When the context of the user's conversations is reset, as a cutoff does; None if it is not."""
        if not self.resets_conversation:
            return None
        cut = [one.decided_at for one in self.verdicts if one.status is DayStatus.CUTOFF_REACHED]
        return max(cut, default=None)

    @property
    def days_cut_off(self) -> int:
        """How many days reached their cutoff, those of a gap among them."""
        cut = sum(one.status is DayStatus.CUTOFF_REACHED for one in self.verdicts)
        return cut + (0 if self.gap is None else self.gap.days)


class DailyRunResult(NamedTuple):
    """The result of a run; a failure is a value, not an exception."""

    error: str | None = None
    error_class: ErrorClass | None = None
    traceback: str | None = None
    """Where a function raised, as `traceback_text` has it."""
    timed_out: bool = False
    """Whether the target's own timeout, which is that of the job, was the first to be over."""

    @property
    def ok(self) -> bool:
        """Whether the run succeeded."""
        return self.error_class is None


DONE = DailyRunResult()


def due_among(changes: Sequence[DueChange], day: date, due: LocalDue) -> LocalDue:
    """The due time of a day, given the current due time and later changes."""
    for change in changes:
        if change.from_date > day:
            break
        due = change.local_due
    return due


def enrollment(
    tenant_id: str, user_id: str, due: time, *, timezone: str | None = None, programme_id: str = DAILY
) -> Enrollment:
    """A checked enrollment; InvalidRequest unless the due time is a whole minute, and the zone exists."""
    if not check_text("user_id", user_id, longest=LONGEST_USER_ID).strip():
        raise InvalidRequest("user_id must not be empty.", "user_id")
    if due.second or due.microsecond or due.tzinfo not in (None, UTC):
        raise InvalidRequest(f"due_time must be {DUE_TIME_FORM}.", "due_time")
    key = daily_key(tenant_id, user_id, programme_id=check_programme_id(programme_id))
    zone = None if timezone is None else check_timezone(timezone)
    return Enrollment(key, due.replace(tzinfo=None, fold=0), zone)
