"""Agent schedules: endpoints with a prompt target, as users and agents see them."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple
from zoneinfo import ZoneInfo

from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import NotFound
from cadenza.domain.planning.planner_settings import Learning, Planning
from cadenza.domain.scheduling.baseline import Cron, Once
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import CronClock, plan_next_run
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Policy
from cadenza.domain.scheduling.target import Probe, PromptTarget

POLICY = Policy(timeout_ms=120_000, max_attempts=3, retry_delay_ms=15_000)
NO_PLANNER = Planning(learning=Learning.OFF)
"""Planners do not change when a schedule without a probe fires."""
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
    timezone: str
    next_run_at: datetime | None
    enabled: bool
    """Whether it will fire again; false for one that is finished or disabled."""
    may_schedule: bool
    created_at: datetime | None
    paused: bool
    """Whether it waits to be resumed."""
    probe: Probe | None = None
    """What is looked at first."""


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


def schedule_of(endpoint: Endpoint) -> Schedule:
    """The user's view of an endpoint with a prompt target."""
    target, baseline = endpoint.target, endpoint.baseline
    assert isinstance(target, PromptTarget), "a schedule has a prompt target"
    recurring = not isinstance(baseline, Once)
    return Schedule(
        id=endpoint.id,
        user_id=target.user_id,
        agent_id=target.agent_id,
        name=endpoint.name,
        prompt=target.prompt,
        schedule_type=ScheduleType.RECURRING if recurring else ScheduleType.ONE_SHOT,
        run_at=baseline.at if isinstance(baseline, Once) else None,
        cron_expression=baseline.expression if isinstance(baseline, Cron) else None,
        timezone=baseline.timezone if isinstance(baseline, Cron) else "UTC",
        next_run_at=endpoint.next_run_at,
        enabled=is_active(endpoint),
        may_schedule=target.may_schedule,
        created_at=endpoint.created_at,
        paused=endpoint.paused_until is not None,
        probe=target.probe,
    )


def with_first_fire(endpoint: Endpoint, *, now: datetime, cron: CronClock) -> Endpoint:
    """A new schedule with its first firing planned."""
    plan = plan_next_run(now, endpoint, cron)
    return evolve(endpoint, next_run_at=plan.next_run_at, next_source=plan.source)


def resumed(endpoint: Endpoint, *, now: datetime, cron: CronClock) -> Endpoint:
    """A paused schedule with its next firing planned; one that fires once, and could not, fires at once.

    One that is not paused stays as it is.
    """
    if not endpoint.paused(now):
        return endpoint
    opened = evolve(endpoint, paused_until=None, pause_reason=None, pause_origin=None)
    if isinstance(endpoint.baseline, Once):
        moment = max(now, endpoint.baseline.at)
    else:
        moment = plan_next_run(now, opened, cron).next_run_at or now
    return evolve(opened, next_run_at=moment, next_source=Source.RESUME)


def next_fires(endpoint: Endpoint, cron: CronClock, most: int = SHOWN_FIRES) -> list[datetime]:
    """The next moments at which it fires, at most so many."""
    moment, baseline = endpoint.next_run_at, endpoint.baseline
    fires: list[datetime] = []
    while moment is not None and len(fires) < most:
        fires.append(moment)
        if not isinstance(baseline, Cron):
            break
        moment = cron.next(baseline.expression, moment, baseline.timezone)
    return fires


def fires_in_a_day(endpoint: Endpoint, cron: CronClock, most: int) -> list[datetime]:
    """The moments at which it fires within 24 hours from the next one, at most so many."""
    fires = next_fires(endpoint, cron, most)
    return [fire for fire in fires if fire < fires[0] + DAY]


def format_moment(moment: datetime, timezone: str) -> str:
    """A moment as unambiguous text: weekday, date with year, time, and zone."""
    return f"{moment.astimezone(ZoneInfo(timezone)):%A, %-d %B %Y, %H:%M} {timezone}"
