"""Operations on jobs, which are named groups of endpoints."""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Self

from pydantic import JsonValue

from cadenza.domain.access.key import Scope
from cadenza.domain.agents.schedule_protection import refuse_schedules_job
from cadenza.domain.errors import Conflict, NotFound
from cadenza.domain.planning.planner_limits import refuse_other_calendars
from cadenza.domain.planning.rules.rule import MOST_RULES
from cadenza.domain.scheduling.calendars.following import follow_job
from cadenza.domain.scheduling.endpoint import Endpoint, Job, evolve, why_job_stays
from cadenza.domain.scheduling.hint import HintKind
from cadenza.domain.scheduling.nudge import plan_if_switched_on
from cadenza.domain.scheduling.steer import ChangedEndpoint, HintRecord, archive
from cadenza.operations.context import RequestContext
from cadenza.operations.documented_models import unvalidated
from cadenza.operations.fields import Flag, Id, Listed, Metadata, Name, Paged, Text
from cadenza.operations.long_pages import one_more, read_page, size_of
from cadenza.operations.operation import CREATED, NO_CONTENT, Command, Nothing, View, operation
from cadenza.operations.scheduling.calendars.of_jobs import (
    calendar_of_job,
    changed_job_rules,
    known_job_calendars,
    resolved_job_rules,
)
from cadenza.operations.scheduling.calendars.schemas import JobCalendarShape
from cadenza.operations.scheduling.endpoint_parts.calendar_rules import CALENDAR, changed_fields
from cadenza.ports.catalog import BulkChange, BulkScope, BulkState, JobChange, Page
from cadenza.ports.planning import RuleFilter


class CreateJob(Command):
    """A new job."""

    name: Name
    id: Id | None = None
    """Chosen by you, or given."""
    description: Text | None = None
    active: Flag = True
    metadata: Metadata = {}
    """A JSON object of your own, such as a team or a runbook: at most 16 KiB and 8 levels deep."""
    calendar: JobCalendarShape | None = None
    """The calendars that keep its endpoints, too."""


class OneJob(Command):
    """The job that is meant."""

    job_id: Id


class UpdateJob(OneJob):
    """What is to be different; what is left out stays as it is."""

    name: Name | None = None
    description: Text | None = None
    active: Flag | None = None
    metadata: Metadata | None = None
    """Replaces the whole object; null empties it."""
    calendar: JobCalendarShape | None = None
    """The calendars that keep its endpoints, too; what is left out of it stays, and null is for none."""


class JobView(View):
    """A job."""

    id: str
    name: str
    description: str | None
    active: bool
    """None of its endpoints is due while it is not active."""
    applied: bool
    """Whether a configuration file wrote it."""
    created_at: datetime | None
    metadata: dict[str, JsonValue]
    """What its owner keeps beside it; the scheduler does not read it."""
    calendar: JobCalendarShape | None
    """The calendars that keep its endpoints, too."""
    pause_origin: str | None
    """Who switched it off, if it is not active."""
    note: str | None
    """Why the call that this answers left it as it is: somebody of a higher rank had decided otherwise."""

    @classmethod
    def of(cls, job: Job, note: str | None = None) -> Self:
        """The view of a job, as the answer to a call."""
        fields = {
            "id": job.id,
            "name": job.name,
            "description": job.description,
            "active": job.active,
            "applied": job.applied,
            "created_at": job.created_at,
            "metadata": dict(job.metadata),
            "calendar": calendar_of_job(job),
            "pause_origin": job.pause_origin,
            "note": note,
        }
        return unvalidated(cls, fields)


class JobsPage(Listed[JobView]):
    """A page of jobs."""


@operation("POST /v1/jobs", Scope.WRITE, status=CREATED)
async def create_job(context: RequestContext, command: CreateJob) -> JobView:
    """Create a job, a named group of endpoints."""
    refuse_schedules_job(command.id)
    now = context.dependencies.clock.now()
    job = Job(
        id=command.id or context.dependencies.ids.new(),
        name=command.name,
        tenant_id=context.tenant_id,
        active=command.active,
        description=command.description,
        created_at=now,
        metadata=command.metadata,
        pause_origin=None if command.active else context.caller.origin,
        calendar_rules=resolved_job_rules(
            command.calendar, await known_job_calendars(context, command.calendar), now
        ),
    )
    if not job.active and (because := why_job_stays(job, (), HintKind.PAUSE, context.caller.origin, now)):
        raise Conflict(f"The job cannot be created like that, because {because}; leave `active` out.")
    await context.store.catalog.add_job(job)
    context.trail.note("job", job.id, after=job)
    return JobView.of(job)


@operation("GET /v1/jobs", Scope.READ)
async def list_jobs(context: RequestContext, command: Paged) -> JobsPage:
    """List jobs, in the order of their ids."""

    async def find(page: Page) -> list[Job]:
        return await context.store.catalog.jobs(context.tenant_id, page)

    page = Page(command.limit, command.cursor)
    jobs, cursor = await read_page(one_more(find), page, lambda job: size_of(job.metadata))
    return JobsPage(items=[JobView.of(job) for job in jobs], next_cursor=cursor)


@operation("GET /v1/jobs/{job_id}", Scope.READ)
async def get_job(context: RequestContext, command: OneJob) -> JobView:
    """Show one job."""
    return JobView.of(await context.store.catalog.job(context.tenant_id, command.job_id))


@operation("PATCH /v1/jobs/{job_id}", Scope.WRITE, ranked=True)
async def update_job(context: RequestContext, command: UpdateJob) -> JobView:
    """Change a job's name, description, activity, metadata or calendars; what is left out stays as it is."""
    refuse_schedules_job(command.job_id)
    given = {name: getattr(command, name) for name in command.model_fields_set - {"job_id"}}
    changes = {name: value for name, value in given.items() if value is not None or name == "description"}
    if "metadata" in given:
        changes["metadata"] = given["metadata"] or {}
    active, fields = changes.pop("active", None), changed_fields(command)
    changes.pop(CALENDAR, None)
    calendars, now = await known_job_calendars(context, command.calendar), context.dependencies.clock.now()

    def change(job: Job) -> Job:
        if fields is None:
            return replace(job, **changes)
        rules = changed_job_rules(job.calendar_rules, fields, calendars, now)
        refuse_other_calendars(job.calendar_rules, rules, context.caller.origin)
        return replace(job, **changes, calendar_rules=rules)

    if active is not None:
        return await _switch(context, command.job_id, active=active, change=change)
    if fields is not None:
        return await _change_calendars(context, command.job_id, change)

    def noted(job: Job) -> Job:
        after = change(job)
        context.trail.note("job", job.id, before=job, after=after)
        return after

    return JobView.of(await context.store.catalog.amend_job(context.tenant_id, command.job_id, noted))


def _unchanged(job: Job) -> Job:
    return job


async def _switch(
    context: RequestContext, job_id: str, *, active: bool, change: JobChange = _unchanged
) -> JobView:
    """Switch a job on or off, unless a higher rank keeps that from happening; its endpoints record that."""
    refuse_schedules_job(job_id)
    planning, origin = context.dependencies.planning_context(), context.caller.origin
    now = planning["now"]
    kind = HintKind.RESUME if active else HintKind.PAUSE
    because: str | None = None

    def decide(state: BulkState) -> BulkChange:
        nonlocal because
        if job_id not in state.jobs:
            raise NotFound(f"Job {job_id} not found.")
        before = state.jobs[job_id]
        job = change(before)
        live = [one for one in state.endpoints.values() if not one.archived]
        because = why_job_stays(job, live, kind, origin, now)
        kept = [follow_job(one, job, **planning).endpoint for one in live]
        if because is None:
            planned = [plan_if_switched_on(one, evolve(one, job_active=active), **planning) for one in kept]
            moved = [one for one in planned if _differs(one, state.endpoints[one.id])]
            switched = job.switched(origin, active=active)
            context.trail.note("job", job_id, before=before, after=switched)
            return BulkChange([switched], list(map(ChangedEndpoint, moved)))
        context.trail.note("job", job_id, before=before, after=job)
        record = HintRecord(kind, now, origin, not_applied=because)
        return BulkChange([job], [ChangedEndpoint(one, record=record) for one in kept])

    scope = BulkScope(frozenset({job_id}))
    decided = await context.store.catalog.change_in_bulk(context.tenant_id, scope, decide)
    return JobView.of(decided.jobs[0], because and f"Not applied, because {because}.")


def _differs(after: Endpoint, before: Endpoint) -> bool:
    """Whether a switch of its job changes an endpoint itself: its next run, or its calendars."""
    moved = after.next_run_at != before.next_run_at
    return moved or after.calendar_rules is not before.calendar_rules


async def _change_calendars(context: RequestContext, job_id: str, change: JobChange) -> JobView:
    """Change a job and its calendars; its endpoints are kept by them, and planned anew, in one commit."""
    planning = context.dependencies.planning_context()

    def decide(state: BulkState) -> BulkChange:
        if job_id not in state.jobs:
            raise NotFound(f"Job {job_id} not found.")
        before = state.jobs[job_id]
        job = change(before)
        context.trail.note("job", job_id, before=before, after=job)
        followed = [follow_job(one, job, **planning) for one in state.endpoints.values()]
        changed = [one for one in followed if one.endpoint is not state.endpoints[one.endpoint.id]]
        return BulkChange([job], changed)

    scope = BulkScope(frozenset({job_id}))
    decided = await context.store.catalog.change_in_bulk(context.tenant_id, scope, decide)
    return JobView.of(decided.jobs[0])


@operation("DELETE /v1/jobs/{job_id}", Scope.WRITE, status=NO_CONTENT)
async def delete_job(context: RequestContext, command: OneJob) -> Nothing:
    """Delete a job with its endpoints. Runs in flight complete; run history is kept."""
    refuse_schedules_job(command.job_id)
    await _note_deleted(context, command.job_id)
    delete = context.trail.noting(partial(archive, now=context.dependencies.clock.now()))
    await context.store.catalog.remove_job(context.tenant_id, command.job_id, delete)
    return Nothing()


async def _note_deleted(context: RequestContext, job_id: str) -> None:
    """Note a job and its rules, which are deleted with it; its endpoints are noted one by one."""
    with suppress(NotFound):  # Endpoints may be of a job that is not stored.
        context.trail.note("job", job_id, before=await context.store.catalog.job(context.tenant_id, job_id))
    wanted, page = RuleFilter(job_id), Page(MOST_RULES)
    for rule in await context.store.rules.rules(context.tenant_id, wanted=wanted, page=page):
        context.trail.note("rule", rule.id, before=rule)


@operation("POST /v1/jobs/{job_id}/pause", Scope.STEER, ranked=True)
async def pause_job(context: RequestContext, command: OneJob) -> JobView:
    """Pause a job: none of its endpoints runs until it is resumed."""
    return await _switch(context, command.job_id, active=False)


@operation("POST /v1/jobs/{job_id}/resume", Scope.STEER, ranked=True)
async def resume_job(context: RequestContext, command: OneJob) -> JobView:
    """Resume a job. Runs that were due in between are rescheduled from now and do not count as late."""
    return await _switch(context, command.job_id, active=True)


JOBS = (create_job, list_jobs, get_job, update_job, delete_job, pause_job, resume_job)
