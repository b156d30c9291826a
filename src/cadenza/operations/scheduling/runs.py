"""Operations that list and show runs, and an endpoint's health."""

from datetime import datetime, timedelta
from typing import Self

from pydantic import JsonValue

from cadenza.domain.access.key import Scope
from cadenza.domain.planning.health import MOST_COUNTED, WINDOWS_H, health
from cadenza.domain.scheduling.plan import RunKind, Source
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.operations.context import RequestContext
from cadenza.operations.documented_models import unvalidated
from cadenza.operations.fields import Id, Listed, Moment, Paged
from cadenza.operations.long_pages import read_page, size_of
from cadenza.operations.operation import Command, View, operation
from cadenza.operations.scheduling.endpoint_parts.commands import OneEndpoint
from cadenza.operations.scheduling.endpoints import require_live
from cadenza.ports.catalog import Page
from cadenza.ports.scheduling import RunFilter, RunsFound


class RunsWanted(Paged):
    """Which runs."""

    status: list[RunStatus] = []
    """Any of these."""
    source: list[Source] = []
    """Any of these."""
    since: Moment | None = None
    """Finished at this moment or later."""
    until: Moment | None = None
    """Finished before this moment."""

    def wanted(self, **fields: str | None) -> RunFilter:
        """The filter for the store."""
        return RunFilter(
            statuses=frozenset(self.status),
            sources=frozenset(self.source),
            since=self.since,
            until=self.until,
            **fields,
        )


class ListRuns(RunsWanted):
    """A part of all runs."""

    endpoint_id: Id | None = None
    job_id: Id | None = None


class ListEndpointRuns(RunsWanted, OneEndpoint):
    """A part of an endpoint's runs."""


class OneRun(Command):
    """The run that is meant."""

    run_id: Id


class RunView(View):
    """A run: what became of a slot, or of one attempt at it, and why."""

    id: str
    job_id: str
    endpoint_id: str
    slot: datetime
    due_at: datetime
    attempt: int
    source: Source
    """What set the moment it ran for."""
    kind: RunKind
    """Whether the schedule brought it about, or a request to run a slot again or to backfill it."""
    status: RunStatus | None
    """Null while it is open."""
    claimed_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    duration_ms: int
    late_ms: int
    coalesced: int
    """How many slots it stands for beside its own."""
    verdict: bool
    """Whether this is the last word on its slot."""
    error: str | None
    reason: str | None
    response: JsonValue

    @classmethod
    def of(cls, run: Run) -> Self:
        """The view of a run."""
        fields = run._asdict()
        del fields["tenant_id"], fields["traceback"]
        fields["kind"] = run.kind
        return unvalidated(cls, fields)


class RunDetails(RunView):
    """A run with everything that was recorded of it."""

    traceback: str | None
    """Where the function raised, if the target is a function and it did; without values of variables."""

    @classmethod
    def of(cls, run: Run) -> Self:
        """The details of a run."""
        fields = run._asdict()
        del fields["tenant_id"]
        fields["kind"] = run.kind
        return unvalidated(cls, fields)


class RunsPage(Listed[RunView]):
    """A page of runs, newest first. It may hold less than its limit and yet not be the last."""


class HealthWindow(View):
    """What happened within so many hours."""

    hours: int
    runs: int
    successes: int
    failures: int
    skipped: int
    success_rate: float | None
    mean_duration_ms: int | None
    p95_duration_ms: int | None
    complete: bool
    """False when there were too many runs to count: the newest were."""


class HealthView(View):
    """How an endpoint has fared lately."""

    endpoint_id: str
    failure_count: int
    """Consecutive failures."""
    last_run_at: datetime | None
    windows: list[HealthWindow]


@operation("GET /v1/runs", Scope.READ)
async def list_runs(context: RequestContext, command: ListRuns) -> RunsPage:
    """List closed runs, newest first, by endpoint, job, status, source and time."""
    wanted = command.wanted(endpoint_id=command.endpoint_id, job_id=command.job_id)
    return await _found(context, command, wanted)


@operation("GET /v1/endpoints/{endpoint_id}/runs", Scope.READ)
async def list_endpoint_runs(context: RequestContext, command: ListEndpointRuns) -> RunsPage:
    """List an endpoint's closed runs, newest first, by status, source and time."""
    require_live(await context.store.endpoints.get(context.key(command.endpoint_id)))
    return await _found(context, command, command.wanted(endpoint_id=command.endpoint_id))


async def _found(context: RequestContext, command: RunsWanted, wanted: RunFilter) -> RunsPage:
    async def find(page: Page) -> RunsFound:
        return await context.store.runs.find_runs(context.tenant_id, wanted=wanted, page=page)

    page = Page(command.limit, command.cursor)
    runs, cursor = await read_page(find, page, lambda run: size_of(run.response))
    return RunsPage.model_construct(items=[RunView.of(run) for run in runs], next_cursor=cursor)


@operation("GET /v1/runs/{run_id}", Scope.READ)
async def get_run(context: RequestContext, command: OneRun) -> RunDetails:
    """Show one run with its response, error, reason and traceback."""
    return RunDetails.of(await context.store.runs.run(context.tenant_id, command.run_id))


@operation("GET /v1/endpoints/{endpoint_id}/health", Scope.READ)
async def get_health(context: RequestContext, command: OneEndpoint) -> HealthView:
    """Summarize the runs of an endpoint over the last 1, 4 and 24 hours."""
    key, now = context.key(command.endpoint_id), context.dependencies.clock.now()
    endpoint = require_live(await context.store.endpoints.get(key))
    ended = await context.store.runs.ended(
        key, since=now - timedelta(hours=max(WINDOWS_H)), limit=MOST_COUNTED
    )
    return HealthView(
        endpoint_id=endpoint.id,
        failure_count=endpoint.failure_count,
        last_run_at=endpoint.last_run_at,
        windows=[HealthWindow(**window._asdict()) for window in health(ended, now)],
    )


RUNS = (list_runs, list_endpoint_runs, get_run, get_health)
