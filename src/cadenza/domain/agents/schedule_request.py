"""Requests for new schedules: how they are read, checked against limits, and refused."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from hashlib import sha256

from cadenza.domain.access.tenant import Limits
from cadenza.domain.agents.probe import check_may_schedule, planning_of, probe_of
from cadenza.domain.agents.schedule import (
    DAY,
    NO_PLANNER,
    POLICY,
    ScheduleType,
    fires_in_a_day,
)
from cadenza.domain.agents.schedule_protection import SCHEDULES_JOB
from cadenza.domain.agents.schedule_timing import (
    Timing,
    guard_of,
    one_shot_baseline,
    recurring_baseline,
    within_limits,
)
from cadenza.domain.agents.users import UserKey, one_line
from cadenza.domain.errors import InvalidRequest, LimitReached, NotAllowed
from cadenza.domain.scheduling.baseline import Baseline, Every, Once
from cadenza.domain.scheduling.calendars.named_rules import NO_NAMED_RULES, NamedRules
from cadenza.domain.scheduling.calendars.rules import NO_RULES, CalendarRules
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import CronClock
from cadenza.domain.scheduling.target import Probe, PromptTarget
from cadenza.domain.validation import check_text

LONGEST_PROMPT = 8_000
ID_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
SHORTEST_ID, LONGEST_ID = 5, 24
TYPES = tuple(ScheduleType)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSchedule(Timing):
    """The arguments of `create_schedule`."""

    name: str
    prompt: str
    schedule_type: str
    agent_id: str | None = None
    may_schedule: bool = False
    may_pace: bool | None = None
    """None is yes for an interval that is given with both bounds of its guard, and otherwise no."""
    probe: Probe | None = None
    calendar: NamedRules = NO_NAMED_RULES
    """The calendars that it keeps to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleRequester:
    """The user on whose behalf a schedule is requested, and the turn in which it is."""

    user: UserKey
    turn_id: str
    """The same for every attempt at one turn."""
    agent_id: str | None = None
    """The agent that makes the request; it answers when the schedule fires, unless another is named."""
    scheduled: bool = False
    """Whether the turn was started by a schedule, and not by the user."""
    may_schedule: bool = True
    """Whether the turn may create schedules."""


def check_requester(requester: ScheduleRequester, wanted: NewSchedule) -> None:
    """A scheduled turn creates schedules only if its own has `may_schedule`; the new ones cannot have it."""
    if requester.scheduled and not requester.may_schedule:
        raise NotAllowed(
            "A turn that a schedule started cannot make schedules: ask the user in your answer, and make"
            " it when they reply."
        )
    if requester.scheduled and wanted.may_schedule:
        raise NotAllowed(
            "A schedule that a schedule makes cannot make schedules itself: leave may_schedule out."
        )

    check_may_schedule(wanted.probe, may_schedule=wanted.may_schedule)


def baseline_of(wanted: NewSchedule, *, now: datetime, zone: str | None) -> Baseline:
    """The baseline of a requested schedule; `zone` is the user's.

    1. The type decides which of the fields must be given, and which must not.
    2. A one-shot schedule has a moment that can be read and is in the future.
    3. A recurring schedule has a cron expression in a time zone, or an interval.
    """
    if wanted.schedule_type not in TYPES:
        raise InvalidRequest(f"schedule_type must be one of {', '.join(TYPES)}.", "schedule_type")
    if wanted.schedule_type == ScheduleType.RECURRING:
        return recurring_baseline(wanted, wanted.timezone or zone)
    return one_shot_baseline(wanted, now=now, zone=wanted.timezone or zone)


def request_digest(requester: ScheduleRequester, wanted: NewSchedule) -> str:
    """A digest of the turn and the request, by which a repeated request is recognized."""
    request = (*requester.user, requester.turn_id, requester.agent_id, *astuple(wanted))
    return sha256(repr(request).encode()).hexdigest()


def schedule_id(request: str, length: int) -> str:
    """An id such as sched-a7b3c, with so many letters of the digest."""
    number, letters = int(request, 16), ""
    for _ in range(length):
        number, place = divmod(number, len(ID_ALPHABET))
        letters += ID_ALPHABET[place]
    return f"sched-{letters}"


def draft_endpoint(
    requester: ScheduleRequester,
    wanted: NewSchedule,
    *,
    baseline: Baseline,
    agent_id: str,
    rules: CalendarRules = NO_RULES,
    length: int = SHORTEST_ID,
) -> Endpoint:
    """The endpoint of a new schedule, without a next run."""
    request = request_digest(requester, wanted)
    guard = guard_of(wanted, baseline)
    paces = wanted.may_pace
    if paces is None:
        paces = isinstance(baseline, Every) and None not in (guard.min_interval_ms, guard.max_interval_ms)
    draft = Endpoint(
        id=schedule_id(request, length),
        name=one_line("name", wanted.name),
        tenant_id=requester.user.tenant_id,
        job_id=SCHEDULES_JOB,
        target=PromptTarget(
            agent_id,
            requester.user.id,
            checked_prompt(wanted.prompt),
            wanted.may_schedule,
            request,
            wanted.probe,
            may_pace=checked_pacing(paces, baseline),
        ),
        baseline=baseline,
        guard=guard,
        policy=POLICY,
        planning=NO_PLANNER,
        calendar_rules=rules,
    )
    return evolve(draft, planning=planning_of(draft))


def checked_prompt(prompt: object) -> str:
    """A prompt that says something."""
    text = check_text("prompt", prompt, longest=LONGEST_PROMPT)
    if not text.strip():
        raise InvalidRequest("prompt must not be empty.", "prompt")
    return text


def checked_pacing(paces: bool, baseline: Baseline) -> bool:  # noqa: FBT001 - it is the value itself
    """Whether its agent may pace a schedule; InvalidRequest for one that fires once."""
    if paces and isinstance(baseline, Once):
        raise InvalidRequest("A one-shot schedule fires once: leave may_pace out.", "may_pace")
    return paces


def admit_schedule(new: Endpoint, active: Sequence[Endpoint], *, limits: Limits, cron: CronClock) -> Endpoint:
    """The schedule to store: the new one, or the one that the same request created before.

    1. The same request creates one schedule.
    2. A user has a limited number of active schedules.
    3. A schedule leaves a minimum interval between two firings.
    4. All schedules of a user together fire a limited number of times a day.
    """
    for one in active:
        if same_request(one, new):
            return one
    check_count_of(active, limits)
    return within_limits_of_user(new, active, limits=limits, cron=cron)


def check_count_of(active: Sequence[Endpoint], limits: Limits) -> None:
    """LimitReached if the user can have no further active schedule."""
    most = limits.schedules_per_user
    if most is not None and len(active) >= most:
        raise LimitReached(
            f"The user has {len(active):,} active schedules, and the limit is {most:,}: delete one first."
        )


def within_limits_of_user(
    schedule: Endpoint, others: Sequence[Endpoint], *, limits: Limits, cron: CronClock
) -> Endpoint:
    """The schedule within the limits of its user, who has these others."""
    limited = within_limits(schedule, limits, cron)
    _check_fires([limited, *others], limits.schedule_fires_per_day, cron)
    return limited


def same_request(one: Endpoint, other: Endpoint) -> bool:
    """Whether both come from the same request in the same turn."""
    first, second = one.target, other.target
    if not isinstance(first, PromptTarget) or not isinstance(second, PromptTarget):
        return False
    return first.request is not None and first.request == second.request


def daily_limit_reached(fires: int, tokens: int, *, limits: Limits) -> str | None:
    """The daily limit that a user has reached, as a sentence; None if there is none."""
    if limits.schedule_fires_per_day is not None and fires >= limits.schedule_fires_per_day:
        return f"the user's schedules have fired {fires:,} times today"
    if limits.schedule_tokens_per_day is not None and tokens >= limits.schedule_tokens_per_day:
        return f"the user's turns have spent {tokens:,} tokens today"
    return None


def tomorrow(now: datetime) -> datetime:
    """When the daily counters start again: midnight UTC."""
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + DAY


def _check_fires(schedules: Sequence[Endpoint], most: int | None, cron: CronClock) -> None:
    if most is None:
        return
    total = 0
    for one in schedules:
        if probe_of(one) is not None:  # It looks, and is counted when it fires.
            continue
        total += len(fires_in_a_day(one, cron, most=most - total + 1))
        if total > most:
            raise LimitReached(
                f"With this one, the user's schedules would fire more than {most:,} times a day: make it fire"
                " less often, or delete another."
            )
