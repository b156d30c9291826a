"""Operations that explain an endpoint's plan, clear its hints, run it now, and list its hint history."""

from collections.abc import Sequence
from datetime import datetime

from cadenza.domain.access.key import Scope
from cadenza.domain.access.run_limit import LimitUse, why_waiting
from cadenza.domain.monitoring.heartbeat import is_heartbeat
from cadenza.domain.planning.learning.serialization import PLANNER, summary_from_note
from cadenza.domain.planning.planner_settings import Learning
from cadenza.domain.scheduling import steer
from cadenza.domain.scheduling.endpoint import Endpoint, Job
from cadenza.domain.scheduling.explain import explain
from cadenza.domain.scheduling.hint import HintKind, origin_text
from cadenza.domain.scheduling.steer import ChangedEndpoint, EndpointChange, HintRecord
from cadenza.domain.scheduling.target import CallableTarget
from cadenza.engine.steering_commands import ClearHints
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Listed, Paged, no_cursor, split_page
from cadenza.operations.operation import View, operation
from cadenza.operations.scheduling.endpoint_parts.commands import OneEndpoint
from cadenza.operations.scheduling.endpoint_view import EndpointView, PlanView
from cadenza.operations.scheduling.endpoints import require_live, unless_archived
from cadenza.ports.catalog import Page

LONGEST_OFFSET = 10
EXPLAINED_HINTS = 50
"""How many lines of the hint history an explanation looks at."""


class ListHints(OneEndpoint, Paged):
    """A part of an endpoint's hint history."""


class HintView(View):
    """A line of the hint history: what was asked, by whom, and why."""

    kind: HintKind
    written_at: datetime
    origin: str
    reason: str | None
    expires_at: datetime | None
    interval_ms: int | None
    at: datetime | None
    not_applied: str | None
    """Why nothing came of it: what of a higher rank was in force."""
    by: str
    """The origin in words, such as "rule: surge" or "person: dashboard"."""


class HintsPage(Listed[HintView]):
    """A page of the hint history, newest first."""


def explain_plan(
    context: RequestContext,
    changed: ChangedEndpoint,
    *,
    shadow_ms: int | None = None,
    history: Sequence[HintRecord] = (),
    job: Job | None = None,
    declared_at: datetime | None = None,
    limits: Sequence[LimitUse] = (),
) -> PlanView:
    """Why the next run of an endpoint is when it is, after a change of it."""
    now, cron = context.dependencies.clock.now(), context.dependencies.cron
    why = explain(
        changed.endpoint,
        now=now,
        cron=cron,
        shadow_ms=shadow_ms,
        history=history,
        job=job,
        declared_at=declared_at,
    )
    answer, *others = why.sentences
    within_limits = why_waiting(changed.endpoint, limits, now)
    return PlanView.of(changed, why._replace(sentences=(answer, *within_limits, *others)))


@operation("GET /v1/endpoints/{endpoint_id}/plan", Scope.READ)
async def explain_endpoint(context: RequestContext, command: OneEndpoint) -> PlanView:
    """Explain the time of the next run: candidates, hints with their reasons, guard and pause."""
    endpoint = require_live(await context.store.endpoints.get(context.key(command.endpoint_id)))
    history = await context.store.runs.hints(endpoint.key, Page(EXPLAINED_HINTS))
    shadow_ms = await _shadow_ms(context, endpoint)
    job = (
        None if endpoint.job_active else await context.store.catalog.job(endpoint.tenant_id, endpoint.job_id)
    )
    return explain_plan(
        context,
        ChangedEndpoint(endpoint),
        shadow_ms=shadow_ms,
        history=history,
        job=job,
        declared_at=await _declared_at(context, endpoint),
        limits=await _limits(context, endpoint),
    )


async def _limits(context: RequestContext, endpoint: Endpoint) -> list[LimitUse]:
    """The limits of an endpoint that is under any."""
    if not endpoint.limited_by:
        return []
    return await context.store.limits.uses(endpoint.tenant_id, context.dependencies.clock.now())


async def _declared_at(context: RequestContext, endpoint: Endpoint) -> datetime | None:
    """When a program last said that it has the function of an endpoint."""
    if not isinstance(endpoint.target, CallableTarget):
        return None
    return await context.store.functions.declared_at(endpoint.target.function)


async def _shadow_ms(context: RequestContext, endpoint: Endpoint) -> int | None:
    """How often the learning planner would let it run, where it only thinks."""
    if endpoint.planning.learning is not Learning.SHADOW or is_heartbeat(endpoint):
        return None
    notes = await context.store.analyses.notes(PLANNER, [endpoint.key])
    summary = summary_from_note(notes.get(endpoint.key))
    return None if summary is None else summary.interval_ms


@operation("DELETE /v1/endpoints/{endpoint_id}/hints", Scope.STEER, ranked=True)
async def clear_hints(context: RequestContext, command: OneEndpoint) -> PlanView:
    """Clear both hints and recalculate the next run."""
    by = context.dependencies.steering.context(context.caller.origin)
    return await _amend(context, command, lambda endpoint: ClearHints().apply(endpoint, by))


@operation("POST /v1/endpoints/{endpoint_id}/run-now", Scope.STEER)
async def run_now(context: RequestContext, command: OneEndpoint) -> PlanView:
    """Make an endpoint due at once, as soon as its minimum interval allows."""
    now = context.dependencies.clock.now()
    return await _amend(context, command, lambda endpoint: steer.run_now(endpoint, now=now))


@operation("POST /v1/endpoints/{endpoint_id}/reset-failures", Scope.STEER)
async def reset_failures(context: RequestContext, command: OneEndpoint) -> EndpointView:
    """Reset the count of consecutive failures, and with the next run the backoff."""
    amended = await context.store.endpoints.amend(
        context.key(command.endpoint_id),
        unless_archived(context.trail.noting(steer.reset_failures)),
    )
    return EndpointView.of(amended.endpoint)


async def _amend(context: RequestContext, command: OneEndpoint, change: EndpointChange) -> PlanView:
    noted = unless_archived(context.trail.noting(change))
    amended = await context.store.endpoints.amend(context.key(command.endpoint_id), noted)
    return explain_plan(context, amended)


@operation("GET /v1/endpoints/{endpoint_id}/hints", Scope.READ)
async def list_hints(context: RequestContext, command: ListHints) -> HintsPage:
    """List an endpoint's hints with their reasons and origins, newest first."""
    key = context.key(command.endpoint_id)
    require_live(await context.store.endpoints.get(key))
    start = _offset(command.cursor)
    found = await context.store.runs.hints(key, Page(command.limit + 1, str(start)))
    records, more = split_page(found, command.limit)
    items = [HintView(**record._asdict(), by=origin_text(record.origin)) for record in records]
    return HintsPage(items=items, next_cursor=str(start + command.limit) if more else None)


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) < LONGEST_OFFSET):
        raise no_cursor()
    return int(cursor)


STEERING = (explain_endpoint, clear_hints, run_now, reset_failures, list_hints)
