"""Agent schedules: what users and their agents plan, listed, created and deleted."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints

from cadenza.domain.access.key import OnBehalfOf, Scope
from cadenza.domain.agents.schedule import (
    Schedule,
    ScheduleType,
    schedule_not_found,
    schedule_of,
)
from cadenza.domain.agents.schedule_protection import SCHEDULES_JOB
from cadenza.domain.agents.schedule_request import LONGEST_PROMPT, NewSchedule, ScheduleRequester
from cadenza.domain.agents.schedule_timing import LONGEST_SECONDS
from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import InvalidRequest, NotAllowed, NotFound
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.target import PromptTarget
from cadenza.domain.text_patterns import WITHOUT_CONTROL
from cadenza.engine.agents.schedules import AgentSchedules, CreatedSchedule
from cadenza.operations.agents.probe_schemas import ProbeShape, accepted_probe
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Flag, Id, Listed, Name, Paged, Whole, ZoneName, split_page
from cadenza.operations.operation import CREATED, Command, View, operation
from cadenza.operations.scheduling.endpoint_parts.calendar_rules import (
    CalendarRulesShape,
    named_rules_of,
    named_rules_shape,
)
from cadenza.operations.scheduling.endpoints import find_page
from cadenza.ports.catalog import EndpointFilter

Seconds = Annotated[int, Whole(1, LONGEST_SECONDS)]
Words = Annotated[
    str,
    StringConstraints(strict=True, pattern=WITHOUT_CONTROL, min_length=1, max_length=LONGEST_PROMPT),
]
MomentText = Annotated[
    str, StringConstraints(strict=True, max_length=64), Field(json_schema_extra={"format": "date-time"})
]


class CreateSchedule(Command):
    """A new schedule of a user."""

    name: Name
    """A short label, on one line."""
    prompt: Words
    """What the agent is told when it fires."""
    schedule_type: ScheduleType
    run_at: MomentText | None = None
    """When a one-shot fires: an ISO date and time; without an offset, in the time zone."""
    cron_expression: Name | None = None
    """When a recurring one fires: five fields, read in the time zone."""
    agent_id: Id | None = None
    """Who answers when it fires; the agent that asks, if left out."""
    timezone: ZoneName | None = None
    """An IANA time zone; the user's, if left out."""
    delay_seconds: Seconds | None = None
    """Instead of `run_at`: so many seconds from now."""
    may_schedule: Flag = False
    """Whether the agent may make schedules when it fires; those may make none."""
    interval_seconds: Seconds | None = None
    """Instead of `cron_expression`: fire so many seconds after each firing."""
    min_interval_seconds: Seconds | None = None
    """The least time between two fires of a recurring one, whatever its agent asks for."""
    max_interval_seconds: Seconds | None = None
    """The most time between two fires of a recurring one, whatever its agent asks for."""
    may_pace: Flag | None = None
    """Whether the agent may steer this schedule when it fires: its next time and interval, a pause, its end.
    If left out, it may for an interval with both bounds."""
    probe: ProbeShape | None = None
    """What is looked at first: the agent gets the prompt only if that has something new."""
    calendar: CalendarRulesShape | None = None
    """When it may fire: calendars of the tenant by their ids, a first and a last moment."""
    user_id: Id | None = None
    """Whose schedule it is; who speaks for a user alone can leave it out."""


class ListSchedules(Paged):
    """Which schedules."""

    enabled_only: Flag = True
    """Leave out those that are done or switched off."""
    user_id: Id | None = None
    """Those of one user."""


class OneSchedule(Command):
    """The schedule that is meant."""

    schedule_id: Id


class NewScheduleView(View):
    """A schedule that was made, and when it fires next."""

    id: str
    name: str
    next_run_at: datetime | None
    next_fires: list[str]
    """The next three fires spelled out, with weekday, year and time zone."""

    @classmethod
    def of(cls, created: CreatedSchedule) -> Self:
        """The view of a schedule that was made."""
        schedule = created.schedule
        return cls(
            id=schedule.id,
            name=schedule.name,
            next_run_at=created.next_fires[0] if created.next_fires else schedule.next_run_at,
            next_fires=created.next_fires_text,
        )


class ScheduleView(View):
    """A schedule."""

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
    """Will it fire again?"""
    may_schedule: bool
    may_pace: bool
    """May its agent steer it when it fires?"""
    created_at: datetime | None
    paused: bool
    """Does it wait to be resumed, or for the end of a pause?"""
    paused_until: datetime | None
    """The end of its pause; null if that lasts until it is resumed, or if there is none."""
    pause_reason: str | None
    probe: ProbeShape | None
    """What is looked at first."""
    calendar: CalendarRulesShape | None
    """When it may fire; null for always."""

    @classmethod
    def of(cls, schedule: Schedule) -> Self:
        """The view of a schedule."""
        probe = None if schedule.probe is None else ProbeShape.of(schedule.probe)
        calendar = named_rules_shape(schedule.calendar)
        return cls(**{**schedule._asdict(), "probe": probe, "calendar": calendar})


class SchedulesPage(Listed[ScheduleView]):
    """A page of schedules."""


class Deleted(View):
    """It is gone."""

    deleted: Literal[True] = True


@operation("POST /v1/schedules", Scope.WRITE, status=CREATED, user=True)
async def create_schedule(context: RequestContext, command: CreateSchedule) -> NewScheduleView:
    """Send a prompt to an agent at a set time, once or repeatedly; the user gets its answer.

    `one-shot` takes `run_at` or `delay_seconds`, `recurring` takes `cron_expression` or `interval_seconds`.
    The answer spells out the next fires: confirm with them.
    """
    probe = None if command.probe is None else accepted_probe(context, command.probe)
    parts: dict[str, Any] = {"probe": probe, "calendar": named_rules_of(command.calendar)}
    wanted = NewSchedule(**command.model_dump(exclude={"user_id", "probe", "calendar"}), **parts)
    return NewScheduleView.of(
        await schedules_of(context).create(_requester(context, command.user_id), wanted)
    )


@operation("GET /v1/schedules", Scope.READ, user=True)
async def list_schedules(context: RequestContext, command: ListSchedules) -> SchedulesPage:
    """List schedules, in the order of their ids."""
    if command.user_id is None and context.caller.on_behalf_of is None:
        return await _all_schedules(context, command)
    user = user_of(context, command.user_id)
    await context.store.users.user(user)
    found = await schedules_of(context).schedules(
        user, enabled_only=command.enabled_only, page=command.page()
    )
    schedules, more = split_page(found, command.limit)
    return SchedulesPage(
        items=[ScheduleView.of(one) for one in schedules], next_cursor=schedules[-1].id if more else None
    )


@operation("DELETE /v1/schedules/{schedule_id}", Scope.WRITE, user=True)
async def delete_schedule(context: RequestContext, command: OneSchedule) -> Deleted:
    """Delete a schedule. It does not run again."""
    owner, schedules = await owner_of(context, command.schedule_id), schedules_of(context)
    await schedules.schedule(owner, command.schedule_id)
    _refuse_deletion_of_others(context, command.schedule_id)
    await schedules.delete(owner, command.schedule_id)
    return Deleted()


def _refuse_deletion_of_others(context: RequestContext, schedule_id: str) -> None:
    """NotAllowed in a turn that a schedule started, unless it may schedule or means its own schedule.

    A turn that was told what a probe answered deletes nothing.
    """
    by = context.caller.on_behalf_of
    if by is not None and by.reads_from_outside:
        raise NotAllowed(
            "A turn that was told what a probe answered cannot delete schedules: ask the user in your answer."
        )
    if by is not None and by.scheduled and not by.may_schedule and by.schedule_id != schedule_id:
        raise NotAllowed("A turn that a schedule started cannot delete other schedules: ask the user.")


def schedules_of(context: RequestContext) -> AgentSchedules:
    """The agent schedules, for one request."""
    dependencies = context.dependencies
    return AgentSchedules(store=dependencies.store, clock=dependencies.clock, cron=dependencies.cron)


def user_of(context: RequestContext, user_id: str | None) -> UserKey:
    """The user of a request; a caller that acts for one user has access to no other."""
    on_behalf_of = context.caller.on_behalf_of
    if on_behalf_of is None:
        if user_id is None:
            raise InvalidRequest("user_id must say which user is meant.", "user_id")
        return UserKey(context.tenant_id, user_id)
    if user_id not in (None, on_behalf_of.user_id):
        raise NotFound(f"User {user_id} not found.")
    return UserKey(context.tenant_id, on_behalf_of.user_id)


def _requester(context: RequestContext, user_id: str | None) -> ScheduleRequester:
    user = user_of(context, user_id)
    on_behalf_of = context.caller.on_behalf_of or OnBehalfOf(user.id)
    return ScheduleRequester(
        user=user,
        turn_id=on_behalf_of.turn or context.dependencies.ids.new(),
        agent_id=on_behalf_of.agent_id,
        scheduled=on_behalf_of.scheduled,
        may_schedule=on_behalf_of.may_schedule,
    )


async def _all_schedules(context: RequestContext, command: ListSchedules) -> SchedulesPage:
    """The schedules of all users; a page may hold less than its limit, and yet not be the last."""
    endpoints, cursor = await find_page(context, command, EndpointFilter(job_id=SCHEDULES_JOB))
    schedules = [schedule_of(one) for one in endpoints if isinstance(one.target, PromptTarget)]
    return SchedulesPage(
        items=[ScheduleView.of(one) for one in schedules if one.enabled or not command.enabled_only],
        next_cursor=cursor,
    )


async def owner_of(context: RequestContext, schedule_id: str) -> UserKey:
    """Whose schedule it is, if the caller may know."""
    if context.caller.on_behalf_of is not None:
        return user_of(context, None)
    try:
        endpoint: Endpoint = await context.store.endpoints.get(context.key(schedule_id))
    except NotFound:
        raise schedule_not_found(schedule_id) from None
    if not isinstance(endpoint.target, PromptTarget):
        raise schedule_not_found(schedule_id)
    return UserKey(context.tenant_id, endpoint.target.user_id)


SCHEDULES = (create_schedule, list_schedules)
DELETION = (delete_schedule,)
