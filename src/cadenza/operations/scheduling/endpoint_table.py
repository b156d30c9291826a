"""Endpoints as rows of a table: schedule, current interval, and last results."""

from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import Field

from cadenza.domain.access.key import Scope
from cadenza.domain.planning.health import EndedRun
from cadenza.domain.scheduling.abandon import Trial, is_suspect, trial_of
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.slots import cadence_ms
from cadenza.operations.context import RequestContext
from cadenza.operations.documented_models import unvalidated
from cadenza.operations.fields import Flag, Id, Limit, Listed, Paged
from cadenza.operations.operation import Command, View, operation
from cadenza.operations.scheduling.endpoint_parts.commands import Selected
from cadenza.operations.scheduling.endpoint_view import IntervalHintView, OneShotHintView
from cadenza.operations.scheduling.endpoints import find_page
from cadenza.operations.scheduling.schemas import BaselineShape, as_shape

RESULTS = 20
MOST_COUNTED = 10_000
DEFAULT = MOST_IDS = 100


class ListRows(Paged, Selected):
    """A part of the endpoints, or those with these ids."""

    limit: Limit = DEFAULT
    endpoint_id: Annotated[list[Id], Field(max_length=MOST_IDS)] = []
    """Only these, if any; then there is one page."""
    failing: Flag = False
    """Only those that are switched on, with their job, and whose last run did not succeed."""


class ResultView(View):
    """How a run ended."""

    status: RunStatus
    duration_ms: int


class RowView(View):
    """An endpoint as a row."""

    id: str
    job_id: str
    name: str
    labels: dict[str, str]
    baseline: BaselineShape
    cadence_ms: int | None
    """How far apart its runs are now; null for cron lines and what runs once, unless a hint says else."""
    next_run_at: datetime | None
    next_source: Source
    last_run_at: datetime | None
    running: bool
    active: bool
    """Whether it and its job are switched on."""
    paused_until: datetime | None
    pause_reason: str | None
    failure_count: int
    suspect: Trial | None
    """How it is started again, because its process died while it ran; null if it is not suspected."""
    interval_hint: IntervalHintView | None
    one_shot_hint: OneShotHintView | None
    results: list[ResultView]
    """How its newest runs ended, oldest first."""

    @classmethod
    def of(cls, endpoint: Endpoint, results: list[EndedRun], now: datetime) -> Self:
        """The row of an endpoint."""
        interval, one_shot = endpoint.interval_hint, endpoint.one_shot_hint
        fields: dict[str, Any] = {
            "id": endpoint.id,
            "job_id": endpoint.job_id,
            "name": endpoint.name,
            "labels": dict(endpoint.labels),
            "baseline": as_shape(endpoint.baseline),
            "cadence_ms": cadence_ms(endpoint, now),
            "next_run_at": endpoint.next_run_at,
            "next_source": endpoint.next_source,
            "last_run_at": endpoint.last_run_at,
            "running": endpoint.lease is not None,
            "active": endpoint.enabled and endpoint.job_active,
            "paused_until": endpoint.paused_until if endpoint.paused(now) else None,
            "pause_reason": endpoint.pause_reason,
            "failure_count": endpoint.failure_count,
            "suspect": trial_of(endpoint) if is_suspect(endpoint) else None,
            "interval_hint": None
            if interval is None or not interval.fresh(now)
            else IntervalHintView.of(interval),
            "one_shot_hint": None
            if one_shot is None or not one_shot.fresh(now)
            else OneShotHintView.of(one_shot),
            "results": [_result(one) for one in reversed(results)],
        }
        return unvalidated(cls, fields)


class RowsPage(Listed[RowView]):
    """A page of rows, in the order of their ids."""


def _result(one: EndedRun) -> ResultView:
    return ResultView.model_construct(status=one.status, duration_ms=one.duration_ms)


@operation("GET /v1/rows", Scope.READ, agent=False)
async def list_rows(context: RequestContext, command: ListRows) -> RowsPage:
    """List endpoints as rows with their last results, in the order of their ids, or those with these ids."""
    endpoints, cursor = await _found(context, command)
    results = await context.store.statistics.latest_runs_of([one.key for one in endpoints], each=RESULTS)
    now = context.dependencies.clock.now()
    return RowsPage.model_construct(
        items=[RowView.of(one, results.get(one.key, []), now) for one in endpoints], next_cursor=cursor
    )


async def _found(context: RequestContext, command: ListRows) -> tuple[list[Endpoint], str | None]:
    if command.endpoint_id:
        return await context.store.statistics.endpoints_by_key(
            [context.key(one) for one in command.endpoint_id]
        ), None
    wanted = command.wanted()._replace(failing=command.failing)
    return await find_page(context, command, wanted)


class CountRows(Command):
    """No arguments: all endpoints of the tenant are counted."""


class RowCounts(View):
    """How many endpoints need attention."""

    failing: int
    complete: bool
    """False when there are too many to count."""


@operation("GET /v1/rows/counts", Scope.READ, agent=False)
async def count_rows(context: RequestContext, command: CountRows) -> RowCounts:  # noqa: ARG001 - every handler takes a command
    """Count failing endpoints: those that are switched on, with their job, whose last run did not succeed."""
    failing = await context.store.statistics.failing(context.tenant_id, MOST_COUNTED)
    return RowCounts(failing=failing, complete=failing < MOST_COUNTED)


ROWS = (list_rows, count_rows)
