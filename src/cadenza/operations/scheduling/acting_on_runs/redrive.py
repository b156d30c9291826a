"""The operation that runs again what failed in a range of time."""

from collections.abc import Collection
from datetime import datetime
from typing import Annotated, NamedTuple

from pydantic import Field

from cadenza.domain.access.key import Scope
from cadenza.domain.agents.schedule_protection import is_schedule, refuse_schedule, refuse_schedules_job
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.monitoring.heartbeat import is_heartbeat, refuse_heartbeat
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.requested_runs.asking import has_succeeded, next_attempt
from cadenza.domain.scheduling.requested_runs.queue import RunRequest
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.domain.text_patterns import A_LABEL
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Flag, Id, Limit, Moment, Text
from cadenza.operations.operation import Command, View, operation
from cadenza.operations.scheduling.acting_on_runs.requested_runs import (
    QueuedRuns,
    all_runs,
    ask,
    note_request,
)
from cadenza.operations.scheduling.endpoints import require_live
from cadenza.ports.catalog import EndpointFilter, Page
from cadenza.ports.scheduling import RunFilter

FAILED = [RunStatus.FAILURE, RunStatus.TIMEOUT, RunStatus.ABANDONED]
Label = Annotated[str, Field(strict=True, pattern=A_LABEL, max_length=130)]


class Redrive(Command):
    """Which failed slots: of one endpoint, of a job, or with a label, in a range of time."""

    endpoint_id: Id | None = None
    job_id: Id | None = None
    label: Label | None = None
    """`name=value`."""
    since: Moment
    """Failed at this moment or later."""
    until: Moment | None = None
    """Failed before this moment."""
    status: Annotated[list[RunStatus], Field(min_length=1)] = FAILED
    """Verdicts that count as failed."""
    limit: Limit = 100
    """How many slots, at most; the oldest first."""
    dry_run: Flag = False
    reason: Text | None = None


class RedrivenRun(View):
    """A failed run whose slot is run again."""

    run_id: str
    endpoint_id: str
    slot: datetime


class RedrivenRuns(QueuedRuns):
    """The slots that are run again."""

    items: list[RedrivenRun]


@operation("POST /v1/runs/redrive", Scope.STEER, in_parts=True)
async def redrive_runs(context: RequestContext, command: Redrive) -> RedrivenRuns:
    """Run again what failed: slots of an endpoint, a job or a label whose verdict is a failure.

    Left out are slots that wait already, or that a later run has served, and all slots of schedules of
    users, of heartbeats and of deleted endpoints. With `dry_run` nothing is changed.
    """
    failed = await _failed(context, command)
    chosen, items, complete = failed[: command.limit], list[RedrivenRun](), len(failed) <= command.limit
    of_endpoint: dict[str, list[FailedSlot]] = {}
    for one in chosen:
        of_endpoint.setdefault(one.run.endpoint_id, []).append(one)
    for endpoint_id, slots in of_endpoint.items():
        by = (Source.RERUN, context.caller.origin, command.reason)
        wanted = [RunRequest(one.run.slot, one.attempt, *by) for one in slots]
        asked = await ask(context, endpoint_id, wanted, dry_run=command.dry_run)
        new = {one.slot for one in asked.new}
        complete = complete and asked.all_wait
        items += [
            RedrivenRun(run_id=one.run.id, endpoint_id=endpoint_id, slot=one.run.slot)
            for one in slots
            if one.run.slot in new
        ]
    note_request(context, command, len(items), dry_run=command.dry_run)
    return RedrivenRuns(matched=len(failed), queued=len(items), complete=complete, items=items)


class FailedSlot(NamedTuple):
    """The verdict of a slot that is run again, and the number of the attempt that this will be."""

    run: Run
    attempt: int


async def _failed(context: RequestContext, command: Redrive) -> list[FailedSlot]:
    """The slots that are meant, those that failed first before the others."""
    if command.until is not None and command.until <= command.since:
        raise InvalidRequest("since must be earlier than `until`.", "since")
    if RunStatus.SUCCESS in command.status:
        raise InvalidRequest("What succeeded is not redriven: leave success out of status.", "status")
    if sum(one is not None for one in (command.endpoint_id, command.job_id, command.label)) != 1:
        raise InvalidRequest("Give one of endpoint_id, job_id and `label`.", "endpoint_id")
    await _check_place(context, command)
    place = RunFilter(endpoint_id=command.endpoint_id, job_id=command.job_id, since=command.since)
    wanted = place._replace(statuses=frozenset(command.status), until=command.until)
    runs = [run for run in await all_runs(context, wanted) if run.verdict]
    eligible = await _eligible(context, command, {run.endpoint_id for run in runs})
    # Read after what waits: so each attempt is either seen here, or its slot was seen to wait.
    reruns: dict[tuple[str, datetime], list[Run]] = {}
    for run in await all_runs(context, place._replace(sources=frozenset({Source.RERUN}))):
        reruns.setdefault((run.endpoint_id, run.slot), []).append(run)
    return [
        FailedSlot(run, next_attempt((run, *later)))
        for run in reversed(runs)
        if run.endpoint_id in eligible
        and run.slot not in eligible[run.endpoint_id]
        and not has_succeeded(later := reruns.get((run.endpoint_id, run.slot), []))
    ]


async def _check_place(context: RequestContext, command: Redrive) -> None:
    """NotFound or Conflict, unless the endpoint or job is there, and may be redriven."""
    if command.endpoint_id is not None:
        endpoint = require_live(await context.store.endpoints.get(context.key(command.endpoint_id)))
        refuse_schedule(endpoint)
        refuse_heartbeat(endpoint)
    if command.job_id is not None:
        refuse_schedules_job(command.job_id)
        await _check_job(context, command.job_id)


async def _check_job(context: RequestContext, job_id: str) -> None:
    """NotFound if there is no such job; one that only programs declare is there with its endpoints."""
    wanted = EndpointFilter(job_id)
    if not await context.store.catalog.find(context.tenant_id, wanted=wanted, page=Page(1)):
        await context.store.catalog.job(context.tenant_id, job_id)


async def _eligible(
    context: RequestContext, command: Redrive, ids: Collection[str]
) -> dict[str, frozenset[datetime]]:
    """The endpoints that may run again and have the label, if one is given; and the slots that wait there."""
    found = await context.store.statistics.endpoints_by_key([context.key(one) for one in ids])
    name, _, value = (command.label or "").partition("=")
    return {
        one.id: frozenset(asked.slot for asked in (one.requested.waiting if one.requested else ()))
        for one in found
        if not (one.archived or is_schedule(one) or is_heartbeat(one))
        and (command.label is None or one.labels.get(name) == value)
    }


REDRIVE = (redrive_runs,)
