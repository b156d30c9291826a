"""Requests for new schedules: how they are read, checked against limits, and refused."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import pairwise
from zoneinfo import ZoneInfo

from cadenza.domain.access.tenant import Limits
from cadenza.domain.agents.probe import check_may_schedule, planning_of, probe_of
from cadenza.domain.agents.schedule import (
    DAY,
    NO_PLANNER,
    POLICY,
    ScheduleType,
    fires_in_a_day,
    next_fires,
)
from cadenza.domain.agents.schedule_protection import SCHEDULES_JOB
from cadenza.domain.agents.users import UserKey, one_line
from cadenza.domain.errors import InvalidRequest, LimitReached, NotAllowed
from cadenza.domain.scheduling.baseline import Cron, Once
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import CronClock
from cadenza.domain.scheduling.target import Probe, PromptTarget
from cadenza.domain.validation import check_count, check_text, iso, milliseconds, quoted
from cadenza.domain.wording import duration_in_words

LONGEST_PROMPT = 8_000
LONGEST_AHEAD = timedelta(days=3_650)
ID_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
SHORTEST_ID, LONGEST_ID = 5, 24
TYPES = tuple(ScheduleType)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSchedule:
    """The arguments of `create_schedule`."""

    name: str
    prompt: str
    schedule_type: str
    run_at: str | datetime | None = None
    """A moment; without an offset it is read in `timezone`, or else in the user's time zone."""
    cron_expression: str | None = None
    agent_id: str | None = None
    timezone: str | None = None
    delay_seconds: int | None = None
    """Instead of `run_at`: the time from now."""
    may_schedule: bool = False
    probe: Probe | None = None


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


def baseline_of(wanted: NewSchedule, *, now: datetime, zone: str | None) -> Once | Cron:
    """The baseline of a requested schedule; `zone` is the user's.

    1. The type decides which of the fields must be given, and which must not.
    2. A one-shot schedule has a moment that can be read and is in the future.
    3. A recurring schedule has a cron expression, which the cron port checks, and a time zone.
    """
    if wanted.schedule_type not in TYPES:
        raise InvalidRequest(f"schedule_type must be one of {', '.join(TYPES)}.", "schedule_type")
    if wanted.schedule_type == ScheduleType.RECURRING:
        return _recurring(wanted, wanted.timezone or zone)
    return Once(_in_the_future(_moment(wanted, now=now, zone=wanted.timezone or zone), now))


def _recurring(wanted: NewSchedule, zone: str | None) -> Cron:
    if wanted.run_at is not None or wanted.delay_seconds is not None:
        raise InvalidRequest(
            "A recurring schedule takes cron_expression alone: leave run_at and delay_seconds out, or make"
            " it one-shot.",
            "run_at",
        )
    if wanted.cron_expression is None:
        raise InvalidRequest(
            "A recurring schedule needs cron_expression: five fields, such as 0 17 * * 1 for Mondays at"
            " 17:00.",
            "cron_expression",
        )
    if zone is None:
        raise InvalidRequest(
            "A recurring schedule needs a time zone, and the user has none: ask where they are, and give a"
            " timezone such as Europe/Berlin.",
            "timezone",
        )
    return Cron(wanted.cron_expression, zone)


def _moment(wanted: NewSchedule, *, now: datetime, zone: str | None) -> datetime:
    if wanted.cron_expression is not None:
        raise InvalidRequest(
            "A one-shot schedule takes run_at alone: leave cron_expression out, or make it recurring.",
            "cron_expression",
        )
    if (wanted.run_at is None) == (wanted.delay_seconds is None):
        raise InvalidRequest(
            "A one-shot schedule needs a moment: either run_at, such as 2030-01-31T09:00:00+01:00, or"
            " delay_seconds.",
            "run_at",
        )
    if wanted.delay_seconds is not None:
        seconds = check_count(
            "delay_seconds", wanted.delay_seconds, least=1, most=LONGEST_AHEAD // timedelta(seconds=1)
        )
        return now + timedelta(seconds=seconds)
    return _with_offset(_parse(wanted.run_at), zone)


def _parse(value: str | datetime | None) -> datetime:
    if isinstance(value, datetime):
        return value
    try:
        return datetime.fromisoformat(check_text("run_at", value).strip())
    except ValueError:
        example = "2030-01-31T09:00:00+01:00"
        raise InvalidRequest(f"run_at must be an ISO date and time, such as {example}.", "run_at") from None


def _with_offset(moment: datetime, zone: str | None) -> datetime:
    """The moment in UTC; a local time that daylight saving skips is moved later by the skipped time."""
    if moment.utcoffset() is None:
        moment = moment.replace(tzinfo=_zone_of(zone))
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise InvalidRequest("run_at is outside the calendar: check the year.", "run_at") from None


def _zone_of(zone: str | None) -> ZoneInfo:
    if zone is None:
        raise InvalidRequest(
            "run_at has no offset and the user has no time zone: ask where they are, and give an offset"
            " such as +01:00 or a timezone such as Europe/Berlin.",
            "run_at",
        )
    return ZoneInfo(zone)


def _in_the_future(moment: datetime, now: datetime) -> datetime:
    if moment <= now:
        raise InvalidRequest(
            f"run_at {iso(moment)} is in the past: it is {iso(now)} now. Give a time in the future.",
            "run_at",
        )
    if moment > now + LONGEST_AHEAD:
        raise InvalidRequest(f"run_at {iso(moment)} is more than ten years ahead: check the year.", "run_at")
    return moment


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


def check_prompt(prompt: str) -> str:
    """The prompt, if it says something; InvalidRequest otherwise."""
    prompt = check_text("prompt", prompt, longest=LONGEST_PROMPT)
    if not prompt.strip():
        raise InvalidRequest("prompt must not be empty.", "prompt")
    return prompt


def draft_endpoint(
    requester: ScheduleRequester,
    wanted: NewSchedule,
    *,
    baseline: Once | Cron,
    agent_id: str,
    length: int = SHORTEST_ID,
) -> Endpoint:
    """The endpoint of a new schedule, without a next run."""
    request = request_digest(requester, wanted)
    prompt = check_prompt(wanted.prompt)
    draft = Endpoint(
        id=schedule_id(request, length),
        name=one_line("name", wanted.name),
        tenant_id=requester.user.tenant_id,
        job_id=SCHEDULES_JOB,
        target=PromptTarget(agent_id, requester.user.id, prompt, wanted.may_schedule, request, wanted.probe),
        baseline=baseline,
        policy=POLICY,
        planning=NO_PLANNER,
    )
    return evolve(draft, planning=planning_of(draft))


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
    most = limits.schedules_per_user
    if most is not None and len(active) >= most:
        raise LimitReached(
            f"The user has {len(active):,} active schedules, and the limit is {most:,}: delete one first."
        )
    _check_interval(new, limits.schedule_min_interval_ms, cron)
    _check_fires([new, *active], limits.schedule_fires_per_day, cron)
    return new


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


def _check_interval(new: Endpoint, least_ms: int | None, cron: CronClock) -> None:
    if least_ms is None or not isinstance(new.baseline, Cron):
        return
    within_a_day = fires_in_a_day(new, cron, most=200)
    fires = next_fires(new, cron, most=len(within_a_day) + 1)
    if any(later - earlier < milliseconds(least_ms) for earlier, later in pairwise(fires)):
        raise InvalidRequest(
            f"{quoted(new.baseline.expression)} fires more often than every {duration_in_words(least_ms)}:"
            " leave more time between two fires.",
            "cron_expression",
        )


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
