"""Daily programmes: what is done for their users, in which window, and on which dates."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

from cadenza.domain.agents.users import one_line
from cadenza.domain.daily.keys import DAILY, ProgrammeKey
from cadenza.domain.daily.window import RETRY_DELAY, WINDOW, cutoff
from cadenza.domain.errors import Conflict, InvalidRequest, LimitReached
from cadenza.domain.scheduling.calendars.calendar import Calendar
from cadenza.domain.scheduling.target import CallableTarget, HttpTarget
from cadenza.domain.validation import check_count, check_duration_ms, check_id, check_text, convert_to_utc

MINUTES_OF_DAY = 1_440
MOST_PROGRAMMES = 100
"""How many programmes a tenant may have."""
LONGEST_PROMPT = 50_000
EVERY_WEEKDAY = (1, 2, 3, 4, 5, 6, 7)
"""From Monday to Sunday, as ISO counts them."""


@dataclass(frozen=True, slots=True)
class ProgrammePrompt:
    """A message to an agent, in the conversation of each user."""

    agent_id: str
    prompt: str

    def __post_init__(self) -> None:
        check_text("agent_id", self.agent_id, longest=200)
        check_text("prompt", self.prompt, longest=LONGEST_PROMPT)


ProgrammeTarget = HttpTarget | ProgrammePrompt | CallableTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class Programme:
    """Something that is owed daily; None in a field means the setting of the installation."""

    tenant_id: str = "default"
    id: str = DAILY
    name: str | None = None
    target: ProgrammeTarget | None = None
    window_minutes: int | None = None
    """How long before a cutoff its window opens."""
    retry_delay_minutes: int | None = None
    """How long after a try is enqueued the next one may be."""
    job_timeout_ms: int | None = None
    share_percent: int = 100
    """At most this share of a process's slots is used at once, and at least one slot may be."""
    weekdays: tuple[int, ...] = EVERY_WEEKDAY
    only_during: Calendar | None = None
    """Dates whose due time, on the clocks of the calendar's zone, lies outside of it are not owed."""
    never_during: Calendar | None = None
    resets_conversation: bool = True
    """Whether a cutoff lets the user's conversations start afresh."""
    created_at: datetime | None = None

    def __post_init__(self) -> None:
        check_id("id", self.id)
        if self.name is not None:
            one_line("name", self.name)
        for field in ("window_minutes", "retry_delay_minutes"):
            if getattr(self, field) is not None:
                check_count(field, getattr(self, field), least=1, most=MINUTES_OF_DAY)
        if self.job_timeout_ms is not None:
            check_duration_ms("job_timeout_ms", self.job_timeout_ms)
        check_count("share_percent", self.share_percent, least=1, most=100)
        object.__setattr__(self, "weekdays", _checked_weekdays(self.weekdays))
        convert_to_utc(self, "created_at")

    @property
    def key(self) -> ProgrammeKey:
        """Its identity."""
        return ProgrammeKey(self.tenant_id, self.id)

    @property
    def window(self) -> timedelta:
        """How long its windows last: an hour, unless it says otherwise."""
        return WINDOW if self.window_minutes is None else timedelta(minutes=self.window_minutes)

    @property
    def retry_delay(self) -> timedelta:
        """How long its users wait for the next try: ten minutes, unless it says otherwise."""
        if self.retry_delay_minutes is None:
            return RETRY_DELAY
        return timedelta(minutes=self.retry_delay_minutes)

    @property
    def serves_every_date(self) -> bool:
        """Whether no date is left out."""
        return self.weekdays == EVERY_WEEKDAY and self.only_during is None and self.never_during is None

    def serves(self, service_date: date, due: time) -> bool:
        """Whether it owes its users who are due at this time a verdict for this date.

        Calendars are read by the user's clock: what counts is whether they are open when clocks in
        their own zone show this date and time.
        """
        if self.serves_every_date:
            return True
        return (
            service_date.isoweekday() in self.weekdays
            and (self.only_during is None or _is_open(self.only_during, service_date, due))
            and (self.never_during is None or not _is_open(self.never_during, service_date, due))
        )

    def is_over(self, service_date: date) -> bool:
        """Whether its calendar is closed for good by a date, so that no later one is served."""
        if self.only_during is None:
            return False
        midnight = cutoff(time(), service_date, timezone=self.only_during.timezone)
        return self.only_during.opens_at(midnight) is None

    def with_settings(
        self, *, window_minutes: int, retry_delay_minutes: int, job_timeout_ms: int
    ) -> "Programme":
        """The same with the installation's settings where it has none of its own."""
        return replace(
            self,
            window_minutes=self.window_minutes or window_minutes,
            retry_delay_minutes=self.retry_delay_minutes or retry_delay_minutes,
            job_timeout_ms=self.job_timeout_ms or job_timeout_ms,
        )

    def with_calendar(self, calendar: Calendar) -> "Programme":
        """The same with a new version of a calendar that it names."""
        programme = self
        if self.only_during is not None and self.only_during.id == calendar.id:
            programme = replace(programme, only_during=calendar)
        if self.never_during is not None and self.never_during.id == calendar.id:
            programme = replace(programme, never_during=calendar)
        return programme

    @property
    def calendars(self) -> tuple[Calendar, ...]:
        """The calendars that it names."""
        return tuple(one for one in (self.only_during, self.never_during) if one is not None)

    def slots(self, most: int) -> int:
        """How many of so many slots it may use at once."""
        return max(1, most * self.share_percent // 100)


def _is_open(calendar: Calendar, service_date: date, due: time) -> bool:
    return calendar.is_open(cutoff(due, service_date, timezone=calendar.timezone))


def _checked_weekdays(weekdays: Iterable[int]) -> tuple[int, ...]:
    days = tuple(sorted(set(weekdays)))
    if not days or not set(days) <= set(EVERY_WEEKDAY):
        raise InvalidRequest("weekdays must be at least one of 1 (Monday) to 7 (Sunday).", "weekdays")
    return days


def refuse_too_many(others: int) -> None:
    """LimitReached if a tenant that has so many others may have no further programme."""
    if others >= MOST_PROGRAMMES:
        raise LimitReached(f"A tenant may have at most {MOST_PROGRAMMES} daily programmes: delete one.")


def refuse_to_delete(programme_id: str, *, has_users: bool, has_days: bool) -> None:
    """Conflict if a programme with these may not be deleted."""
    if has_users:
        raise Conflict(f"Users are enrolled in the programme {programme_id}: remove them first.")
    if has_days:
        raise Conflict(f"The programme {programme_id} has results of past days: ask to delete them with it.")


DAILY_PROGRAMME = Programme()
"""The programme of a tenant that has stored none."""
