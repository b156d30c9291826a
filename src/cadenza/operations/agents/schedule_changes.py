"""Operations by which users, and agents in turns of users, change schedules and look into them."""

from datetime import datetime
from typing import Self

from pydantic import JsonValue

from cadenza.domain.access.key import Scope
from cadenza.domain.agents.pacing import decision_of
from cadenza.domain.agents.schedule_change import ScheduleUpdate
from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import NotAllowed
from cadenza.domain.scheduling.explain import Explanation, explain
from cadenza.domain.scheduling.hint import Rank, origin_text, rank_of
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.operations.agents.schedules import (
    MomentText,
    OneSchedule,
    ScheduleView,
    Seconds,
    Words,
    owner_of,
    schedules_of,
)
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Flag, Id, Listed, Name, Paged, Text, ZoneName
from cadenza.operations.operation import View, operation
from cadenza.operations.scheduling.endpoint_parts.calendar_rules import CalendarRulesShape, changed_fields
from cadenza.operations.scheduling.steering import EXPLAINED_HINTS
from cadenza.ports.catalog import Page
from cadenza.ports.scheduling import RunFilter

BOUNDS = frozenset({"min_interval_seconds", "max_interval_seconds"})


class UpdateSchedule(OneSchedule):
    """What of a schedule changes; what is left out stays."""

    name: Name | None = None
    prompt: Words | None = None
    agent_id: Id | None = None
    """Who answers when it fires."""
    run_at: MomentText | None = None
    """A new moment: it then fires once."""
    delay_seconds: Seconds | None = None
    """Instead of `run_at`: so many seconds from now."""
    cron_expression: Name | None = None
    """New times: five fields; it is then recurring."""
    interval_seconds: Seconds | None = None
    """Instead of `cron_expression`: fire so many seconds after each firing."""
    timezone: ZoneName | None = None
    """The IANA time zone in which its times are read."""
    min_interval_seconds: Seconds | None = None
    """The least time between two fires; null takes the bound away."""
    max_interval_seconds: Seconds | None = None
    """The most time between two fires; null takes the bound away."""
    may_pace: Flag | None = None
    """Whether the agent may steer this schedule when it fires."""
    may_schedule: Flag | None = None
    """Whether the agent may make schedules when it fires."""
    calendar: CalendarRulesShape | None = None
    """When it may fire; what is left out of it stays, and null is for always."""

    def to_domain(self) -> ScheduleUpdate:
        """The update."""
        given = self.model_dump(exclude={"schedule_id", "calendar"})
        lost = {field for field in BOUNDS & self.model_fields_set if given[field] is None}
        return ScheduleUpdate(**given, unbounded=frozenset(lost), calendar=changed_fields(self))


class PauseSchedule(OneSchedule):
    """A pause of a schedule."""

    until: MomentText | None = None
    """An ISO date and time; without an offset, in the user's time zone. If left out, until it is resumed."""
    reason: Text | None = None


class SnoozeSchedule(OneSchedule):
    """How long a schedule is put off; give exactly one of the two."""

    for_seconds: Seconds | None = None
    """So many seconds from now."""
    until: MomentText | None = None
    """An ISO date and time; without an offset, in the user's time zone."""


class ListScheduleRuns(OneSchedule, Paged):
    """A part of the history of a schedule."""


class ScheduleRunView(View):
    """One firing of a schedule, or one attempt at it."""

    id: str
    slot: datetime
    """The moment at which it was to fire."""
    started_at: datetime | None
    finished_at: datetime | None
    attempt: int
    source: Source
    """What set that moment."""
    status: RunStatus | None
    verdict: bool
    """Whether this is the last word on that moment."""
    reason: str | None
    """Why it was skipped or cancelled, or why there was nothing to report."""
    messages: int | None
    """How many messages its user got."""
    tokens: int | None
    nothing_to_report: bool

    @classmethod
    def of(cls, run: Run) -> Self:
        """The view of a run."""
        said: dict[str, JsonValue] = run.response if isinstance(run.response, dict) else {}
        seen = {name: getattr(run, name) for name in cls.model_fields if name in Run._fields}
        told = {name: said.get(name) for name in ("messages", "tokens")}
        silent = said.get("nothing_to_report") is True
        return cls(**seen | told, nothing_to_report=silent).model_copy(
            update={"reason": run.reason or (said.get("reason") if silent else None)}
        )


class ScheduleRunsPage(Listed[ScheduleRunView]):
    """A page of the history of a schedule, newest first."""


class SchedulePlanView(View):
    """Why a schedule fires next when it does."""

    schedule_id: str
    now: datetime
    next_run_at: datetime | None
    source: Source
    """Which rule set that moment."""
    opens_at: datetime | None
    """When it may really fire: not before a pause or a limit lets it."""
    gate: str | None
    """What keeps it from firing at all."""
    by: str | None
    """Who brought that moment about, such as "agent: helper"; null if it is its own time."""
    reason: str | None
    """The reason that was given for it."""
    answer: str
    """All of it in words."""


@operation("PATCH /v1/schedules/{schedule_id}", Scope.WRITE, user=True)
async def update_schedule(context: RequestContext, command: UpdateSchedule) -> ScheduleView:
    """Change a schedule: its name, prompt, agent or times, and what its agent may do when it fires.

    New times end what its agent has asked for, and make a schedule that is done active again.
    """
    user, schedules = await _owner(context, command), schedules_of(context)
    before = await schedules.schedule(user, command.schedule_id)
    changed = await schedules.update(
        user, command.schedule_id, command.to_domain(), origin=_origin(context, user)
    )
    after = await schedules.schedule(user, command.schedule_id)
    context.trail.note("schedule", command.schedule_id, before=before, after=after)
    return ScheduleView.of(changed)


@operation("POST /v1/schedules/{schedule_id}/pause", Scope.WRITE, user=True)
async def pause_schedule(context: RequestContext, command: PauseSchedule) -> ScheduleView:
    """Pause a schedule until a moment, or until it is resumed."""
    user = await _owner(context, command)
    paused = await schedules_of(context).pause(
        user, command.schedule_id, command.until, command.reason, origin=_origin(context, user)
    )
    return ScheduleView.of(paused)


@operation("POST /v1/schedules/{schedule_id}/resume", Scope.WRITE, user=True)
async def resume_schedule(context: RequestContext, command: OneSchedule) -> ScheduleView:
    """Resume a schedule that is paused or snoozed, or that its agent has finished.

    A one-time schedule that was paused, and whose moment has passed, runs at once.
    """
    user = await _owner(context, command)
    resumed = await schedules_of(context).resume(user, command.schedule_id, origin=_origin(context, user))
    return ScheduleView.of(resumed)


@operation("POST /v1/schedules/{schedule_id}/snooze", Scope.WRITE, user=True)
async def snooze_schedule(context: RequestContext, command: SnoozeSchedule) -> ScheduleView:
    """Put off the next firing of a schedule, once; then it goes on as before.

    A one-time schedule that has fired fires once more.
    """
    user = await _owner(context, command)
    snoozed = await schedules_of(context).snooze(
        user,
        command.schedule_id,
        for_seconds=command.for_seconds,
        until=command.until,
        origin=_origin(context, user),
    )
    return ScheduleView.of(snoozed)


@operation("POST /v1/schedules/{schedule_id}/run-now", Scope.WRITE, user=True)
async def run_schedule(context: RequestContext, command: OneSchedule) -> ScheduleView:
    """Run a schedule now, beside its regular times, as soon as its minimum interval allows."""
    user = await _owner(context, command)
    return ScheduleView.of(await schedules_of(context).run_now(user, command.schedule_id))


@operation("GET /v1/schedules/{schedule_id}/runs", Scope.READ, user=True)
async def list_schedule_runs(context: RequestContext, command: ListScheduleRuns) -> ScheduleRunsPage:
    """List what became of the firings of a schedule, newest first."""
    user = await owner_of(context, command.schedule_id)
    endpoint = await schedules_of(context).schedule(user, command.schedule_id)
    found = await context.store.runs.find_runs(
        context.tenant_id,
        wanted=RunFilter(endpoint_id=endpoint.id),
        page=Page(command.limit, command.cursor),
    )
    return ScheduleRunsPage(items=[ScheduleRunView.of(run) for run in found.runs], next_cursor=found.after)


@operation("GET /v1/schedules/{schedule_id}/plan", Scope.READ, user=True)
async def explain_schedule(context: RequestContext, command: OneSchedule) -> SchedulePlanView:
    """Explain why a schedule fires next when it does, with the reason that its agent gave."""
    user = await owner_of(context, command.schedule_id)
    endpoint = await schedules_of(context).schedule(user, command.schedule_id)
    history = await context.store.runs.hints(endpoint.key, Page(EXPLAINED_HINTS))
    now, cron = context.dependencies.clock.now(), context.dependencies.cron
    why: Explanation = explain(endpoint, now=now, cron=cron, history=history)
    decision = decision_of(endpoint, history, now)
    return SchedulePlanView(
        schedule_id=endpoint.id,
        now=why.now,
        next_run_at=why.next_run_at,
        source=why.source,
        opens_at=why.opens_at,
        gate=why.gate,
        by=None if decision is None else origin_text(decision.origin),
        reason=None if decision is None else decision.reason,
        answer=" ".join(why.sentences),
    )


async def _owner(context: RequestContext, command: OneSchedule) -> UserKey:
    """Whose schedule it is, if the caller may change it; a turn that a schedule started changes none."""
    on_behalf_of = context.caller.on_behalf_of
    if on_behalf_of is not None and on_behalf_of.scheduled:
        raise NotAllowed(
            "A turn that a schedule started steers this schedule alone, with the tools of the turn: ask the"
            " user in your answer."
        )
    return await owner_of(context, command.schedule_id)


def _origin(context: RequestContext, user: UserKey) -> str:
    """Who decides: what agents and other models ask for here, they ask for in the name of the user."""
    origin = context.caller.origin
    return origin if rank_of(origin) is Rank.PERSON else f"user:{user.id}"


SCHEDULE_CHANGES = (
    update_schedule,
    pause_schedule,
    resume_schedule,
    snooze_schedule,
    run_schedule,
    list_schedule_runs,
    explain_schedule,
)
