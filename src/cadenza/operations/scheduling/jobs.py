"""Operations on jobs, which are named groups of endpoints."""

from dataclasses import replace
from datetime import datetime
from typing import Self

from pydantic import JsonValue

from cadenza.domain.access.key import Scope
from cadenza.domain.agents.schedule_protection import refuse_schedules_job
from cadenza.domain.scheduling.endpoint import Job
from cadenza.domain.scheduling.steer import archive
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Flag, Id, Listed, Metadata, Name, Paged, Text, split_page
from cadenza.operations.operation import CREATED, NO_CONTENT, Command, Nothing, View, operation


class CreateJob(Command):
    """A new job."""

    name: Name
    id: Id | None = None
    """Chosen by you, or given."""
    description: Text | None = None
    active: Flag = True
    metadata: Metadata = {}
    """A JSON object of your own, such as a team or a runbook: at most 16 KiB and 8 levels deep."""


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

    @classmethod
    def of(cls, job: Job) -> Self:
        """The view of a job."""
        return cls(
            id=job.id,
            name=job.name,
            description=job.description,
            active=job.active,
            applied=job.applied,
            created_at=job.created_at,
            metadata=dict(job.metadata),
        )


class JobsPage(Listed[JobView]):
    """A page of jobs."""


@operation("POST /v1/jobs", Scope.WRITE, status=CREATED)
async def create_job(context: RequestContext, command: CreateJob) -> JobView:
    """Create a job, a named group of endpoints."""
    refuse_schedules_job(command.id)
    job = Job(
        id=command.id or context.dependencies.ids.new(),
        name=command.name,
        tenant_id=context.tenant_id,
        active=command.active,
        description=command.description,
        created_at=context.dependencies.clock.now(),
        metadata=command.metadata,
    )
    await context.store.catalog.add_job(job)
    return JobView.of(job)


@operation("GET /v1/jobs", Scope.READ)
async def list_jobs(context: RequestContext, command: Paged) -> JobsPage:
    """List jobs, in the order of their ids."""
    jobs, more = split_page(
        await context.store.catalog.jobs(context.tenant_id, command.page()), command.limit
    )
    return JobsPage(items=[JobView.of(job) for job in jobs], next_cursor=jobs[-1].id if more else None)


@operation("GET /v1/jobs/{job_id}", Scope.READ)
async def get_job(context: RequestContext, command: OneJob) -> JobView:
    """Show one job."""
    return JobView.of(await context.store.catalog.job(context.tenant_id, command.job_id))


@operation("PATCH /v1/jobs/{job_id}", Scope.WRITE)
async def update_job(context: RequestContext, command: UpdateJob) -> JobView:
    """Change a job's name, description, activity or metadata; what is left out stays as it is."""
    refuse_schedules_job(command.job_id)
    given = {name: getattr(command, name) for name in command.model_fields_set - {"job_id"}}
    changes = {name: value for name, value in given.items() if value is not None or name == "description"}
    if "metadata" in given:
        changes["metadata"] = given["metadata"] or {}
    job = await context.store.catalog.amend_job(
        context.tenant_id, command.job_id, lambda job: replace(job, **changes)
    )
    return JobView.of(job)


@operation("DELETE /v1/jobs/{job_id}", Scope.WRITE, status=NO_CONTENT)
async def delete_job(context: RequestContext, command: OneJob) -> Nothing:
    """Delete a job with its endpoints. Runs that are in flight end as they would; history stays."""
    refuse_schedules_job(command.job_id)
    await context.store.catalog.remove_job(context.tenant_id, command.job_id, archive)
    return Nothing()


@operation("POST /v1/jobs/{job_id}/pause", Scope.STEER)
async def pause_job(context: RequestContext, command: OneJob) -> JobView:
    """Switch a job off: none of its endpoints is due until it is resumed."""
    return await update_job.handle(context, UpdateJob(job_id=command.job_id, active=False))


@operation("POST /v1/jobs/{job_id}/resume", Scope.STEER)
async def resume_job(context: RequestContext, command: OneJob) -> JobView:
    """Switch a job on again; what came due meanwhile runs once, as its misfire policy says."""
    return await update_job.handle(context, UpdateJob(job_id=command.job_id, active=True))


JOBS = (create_job, list_jobs, get_job, update_job, delete_job, pause_job, resume_job)
