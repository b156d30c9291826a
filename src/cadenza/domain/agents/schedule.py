"""Agent schedules: endpoints with a prompt target, as users and agents see them."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice
from typing import NamedTuple, assert_never
from zoneinfo import ZoneInfo

from cadenza.domain.agents.schedule_calendars import open_fire
from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import NotFound
from cadenza.domain.planning.planner_settings import MOST_PAUSE_MINUTES, Learning, Planning
from cadenza.domain.scheduling.baseline import Cron, Every, Once, cadence_at
from cadenza.domain.scheduling.calendars.named_rules import NO_NAMED_RULES, NamedRules, named_rules
from cadenza.domain.scheduling.due import FOREVER
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import CronClock, guarded, plan_next_run
from cadenza.domain.scheduling.plan import Candidate, Source
from cadenza.domain.scheduling.policy import Policy
from cadenza.domain.scheduling.target import Probe, PromptTarget
from cadenza.domain.validation import milliseconds

POLICY = Policy(timeout_ms=120_000, max_attempts=3, retry_delay_ms=15_000)
NO_PLANNER = Planning(learning=Learning.OFF, max_pause_minutes=MOST_PAUSE_MINUTES)
"""Planners do not change when a schedule without a probe fires. Its own agent may end it, and so pause it
for long."""
SHOWN_FIRES = 3
DAY = timedelta(days=1)


class ScheduleType(StrEnum):
    """Whether it fires once or repeatedly."""

    ONE_SHOT = "one-shot"
    RECURRING = "recurring"


class Schedule(NamedTuple):
    """A schedule as its user sees it."""

    id: str
    user_id: str
    agent_id: str
    name: str
    prompt: str
    schedule_type: ScheduleType
    run_at: datetime | None
    cron_expression: str | None
    interval_seconds: int | None
    min_interval_seconds: int | None
    max_interval_seconds: int | None
    timezone: str
    next_run_at: datetime | None
    enabled: bool
    """Whether it will fire again; false for one that is finished or disabled."""
    may_schedule: bool
    may_pace: bool
    created_at: datetime | None
    paused: bool
    """Whether it waits to be resumed, or for the end of a pause."""
    paused_until: datetime | None
    """The end of its pause; None if that lasts until it is resumed, or if there is none."""
    pause_reason: str | None
    probe: Probe | None = None
    """What is looked at first."""
    calendar: NamedRules = NO_NAMED_RULES
    """The calendars that it keeps to."""


def belongs_to(endpoint: Endpoint, user: UserKey) -> bool:
    """Whether the endpoint is a schedule of this user."""
    target = endpoint.target
    return isinstance(target, PromptTarget) and (endpoint.tenant_id, target.user_id) == user


def is_active(endpoint: Endpoint) -> bool:
    """Whether it will fire again, or is firing now."""
    return endpoint.enabled and not endpoint.archived and endpoint.next_run_at is not None


def schedule_of_user(endpoint: Endpoint, user: UserKey) -> Endpoint:
    """The endpoint, if it is a schedule of this user that was not deleted; NotFound otherwise."""
    if not belongs_to(endpoint, user) or endpoint.archived:
        raise schedule_not_found(endpoint.id)
    return endpoint


def schedule_not_found(schedule_id: str) -> NotFound:
    """The error for a schedule that does not exist or belongs to another user."""
    return NotFound(f"Schedule {schedule_id} not found.")


def prompt_of(endpoint: Endpoint) -> PromptTarget:
    """The prompt that a schedule sends."""
    target = endpoint.target
    assert isinstance(target, PromptTarget), "a schedule has a prompt target"
    return target


def schedule_of(endpoint: Endpoint) -> Schedule:
    """The user's view of an endpoint with a prompt target."""
    target, baseline, guard = prompt_of(endpoint), endpoint.baseline, endpoint.guard
    recurring, until = not isinstance(baseline, Once), endpoint.paused_until
    return Schedule(
        id=endpoint.id,
        user_id=target.user_id,
        agent_id=target.agent_id,
        name=endpoint.name,
        prompt=target.prompt,
        schedule_type=ScheduleType.RECURRING if recurring else ScheduleType.ONE_SHOT,
        run_at=baseline.at if isinstance(baseline, Once) else None,
        cron_expression=baseline.expression if isinstance(baseline, Cron) else None,
        interval_seconds=_in_seconds(baseline.interval_ms if isinstance(baseline, Every) else None),
        min_interval_seconds=_in_seconds(guard.min_interval_ms),
        max_interval_seconds=_in_seconds(guard.max_interval_ms),
        timezone=baseline.timezone if isinstance(baseline, Cron) else "UTC",
        next_run_at=endpoint.next_run_at,
        enabled=is_active(endpoint),
        may_schedule=target.may_schedule,
        may_pace=target.may_pace,
        created_at=endpoint.created_at,
        paused=until is not None,
        paused_until=None if until is None or until >= FOREVER else until,
        pause_reason=None if until is None else endpoint.pause_reason,
        probe=target.probe,
        calendar=named_rules(endpoint.calendar_rules),
    )


def _in_seconds(span_ms: int | None) -> int | None:
    return None if span_ms is None else span_ms // 1_000


def with_first_fire(endpoint: Endpoint, *, now: datetime, cron: CronClock) -> Endpoint:
    """A new schedule with its first firing planned."""
    plan = plan_next_run(now, endpoint, cron)
    return evolve(endpoint, next_run_at=plan.next_run_at, next_source=plan.source)


def next_fires(endpoint: Endpoint, cron: CronClock, most: int = SHOWN_FIRES) -> list[datetime]:
    """The next moments at which it fires, at most so many."""
    return list(islice(_fires(endpoint, cron), most))


def _fires(endpoint: Endpoint, cron: CronClock) -> Iterator[datetime]:
    slot = endpoint.next_run_at
    while slot is not None and (moment := open_fire(slot, endpoint, cron)) is not None:
        yield moment
        slot = _fire_after(moment, endpoint, cron) if moment < FOREVER else None


def _fire_after(moment: datetime, endpoint: Endpoint, cron: CronClock) -> datetime | None:
    """The fire after one, within the guard and without hints; None if it fires once."""
    cadence = cadence_at(endpoint.baseline, moment)
    match cadence:
        case None:
            return None
        case Cron():
            following = cron.next(cadence.expression, moment, cadence.timezone)
        case Every():
            following = moment + milliseconds(cadence.interval_ms)
        case _:
            assert_never(cadence)
    return guarded(moment, moment, endpoint, Candidate(following, Source.FIRST))[0]


def fires_in_a_day(endpoint: Endpoint, cron: CronClock, most: int) -> list[datetime]:
    """The moments at which it fires within 24 hours from the next one, at most so many."""
    found: list[datetime] = []
    for fire in islice(_fires(endpoint, cron), most):
        if found and fire >= found[0] + DAY:
            break
        found.append(fire)
    return found


def format_moment(moment: datetime, timezone: str) -> str:
    """A moment as unambiguous text: weekday, date with year, time, and zone."""
    return f"{moment.astimezone(ZoneInfo(timezone)):%A, %-d %B %Y, %H:%M} {timezone}"
