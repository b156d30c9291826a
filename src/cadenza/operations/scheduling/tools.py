"""Operations for the three steering tools, and for pausing and resuming several endpoints."""

from typing import Annotated

from pydantic import Field, StringConstraints

from cadenza.domain.access.key import Scope
from cadenza.domain.agents.schedule_protection import is_schedule, refuse_schedules_job
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.hint import LONGEST_TTL_MINUTES
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.engine.steering_commands import (
    DEFAULT_INTERVAL_TTL,
    PauseUntil,
    ProposeInterval,
    ProposeNextTime,
    SteeringAction,
    SteeringContext,
    wire_moment,
)
from cadenza.operations.audit_trail import AuditTrail
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Span, SpanFromZero, Text
from cadenza.operations.operation import View, operation
from cadenza.operations.scheduling.endpoint_parts.commands import OneEndpoint, Selected
from cadenza.operations.scheduling.endpoint_view import PlanView
from cadenza.operations.scheduling.endpoints import require_live
from cadenza.operations.scheduling.steering import explain_plan
from cadenza.ports.catalog import Page

Ttl = Annotated[float, Field(gt=0, le=LONGEST_TTL_MINUTES)]
Iso = Annotated[
    str, StringConstraints(strict=True, max_length=64), Field(json_schema_extra={"format": "date-time"})
]
IN_ONE_COMMIT = 500


class ProposeIntervalCommand(OneEndpoint):
    """Run every so often for a while, then fall back to the baseline."""

    intervalMs: Span
    ttlMinutes: Ttl = DEFAULT_INTERVAL_TTL
    reason: Text | None = None


class ProposeNextTimeCommand(OneEndpoint):
    """Run once, at a moment or after a while; give exactly one of the two."""

    nextRunInMs: SpanFromZero | None = None
    nextRunAtIso: Iso | None = None
    ttlMinutes: Ttl | None = None
    """Half an hour after the moment, if left out."""
    reason: Text | None = None


class PauseUntilCommand(OneEndpoint):
    """Close the gate until a moment; null opens it again."""

    untilIso: Iso | None
    reason: Text | None = None


class PauseEndpoints(Selected):
    """Several endpoints to be paused, by job, by labels or by both."""

    untilIso: Iso
    reason: Text | None = None


class ResumeEndpoints(Selected):
    """Several endpoints to be resumed, by job, by labels or by both."""

    reason: Text | None = None


class Steered(View):
    """How many endpoints were steered."""

    endpoints: int
    not_applied: int
    """How many others stay as they are, because what is in force there has a higher rank."""


@operation("POST /v1/endpoints/{endpoint_id}/tools/propose_interval", Scope.STEER, ranked=True)
async def propose_interval(context: RequestContext, command: ProposeIntervalCommand) -> PlanView:
    """Tighten or relax: run every `intervalMs` for `ttlMinutes`, then fall back to the baseline."""
    tool = ProposeInterval.parse(command.model_dump(exclude={"endpoint_id"}))
    return await _steer(context, command.endpoint_id, tool)


@operation("POST /v1/endpoints/{endpoint_id}/tools/propose_next_time", Scope.STEER, ranked=True)
async def propose_next_time(context: RequestContext, command: ProposeNextTimeCommand) -> PlanView:
    """Run once at a time (`nextRunAtIso`) or after a delay (`nextRunInMs`), within the guard.

    A time in the past, or the word `now`, means now.
    """
    tool = ProposeNextTime.parse(command.model_dump(exclude={"endpoint_id"}))
    return await _steer(context, command.endpoint_id, tool)


@operation("POST /v1/endpoints/{endpoint_id}/tools/pause_until", Scope.STEER, ranked=True)
async def pause_until(context: RequestContext, command: PauseUntilCommand) -> PlanView:
    """Pause until a time (9999-01-01T00:00:00Z: until resumed); null resumes."""
    tool = PauseUntil.parse(command.model_dump(exclude={"endpoint_id"}))
    return await _steer(context, command.endpoint_id, tool)


async def _steer(context: RequestContext, endpoint_id: str, tool: SteeringAction) -> PlanView:
    steering = context.dependencies.steering
    amended = await steering.steer(
        context.key(endpoint_id), UnlessArchived(tool, context.trail), origin=context.caller.origin
    )
    return explain_plan(context, amended)


class UnlessArchived:
    """A steering action that raises NotFound if the endpoint was deleted, and is noted for the audit."""

    def __init__(self, tool: SteeringAction, trail: AuditTrail) -> None:
        self._tool = tool
        self._trail = trail

    def apply(self, endpoint: Endpoint, by: SteeringContext) -> ChangedEndpoint:
        """The endpoint after the action."""
        return self._trail.noting(lambda before: self._tool.apply(before, by))(require_live(endpoint))


@operation("POST /v1/endpoints/pause", Scope.STEER, ranked=True, in_parts=True)
async def pause_endpoints(context: RequestContext, command: PauseEndpoints) -> Steered:
    """Pause all endpoints of a job, or with labels, until a time."""
    tool = PauseUntil(until=wire_moment("untilIso", command.untilIso), reason=command.reason)
    return await _steer_all(context, command, tool)


@operation("POST /v1/endpoints/resume", Scope.STEER, ranked=True, in_parts=True)
async def resume_endpoints(context: RequestContext, command: ResumeEndpoints) -> Steered:
    """Resume all endpoints of a job, or with labels."""
    return await _steer_all(context, command, PauseUntil(until=None, reason=command.reason))


async def _steer_all(context: RequestContext, command: Selected, tool: SteeringAction) -> Steered:
    if command.job_id is None and not command.label:
        raise InvalidRequest("Say which endpoints: give a job_id or a label.", "label")
    refuse_schedules_job(command.job_id)
    by = context.dependencies.steering.context(context.caller.origin)
    steered, kept, after = 0, 0, None
    while True:
        amended = await context.store.catalog.amend_all(
            context.tenant_id,
            lambda endpoint: ChangedEndpoint(endpoint) if is_schedule(endpoint) else tool.apply(endpoint, by),
            wanted=command.wanted(),
            page=Page(IN_ONE_COMMIT, after),
        )
        endpoints = [one for one in amended if not is_schedule(one.endpoint)]
        steered += sum(one.applied for one in endpoints)
        kept += sum(not one.applied for one in endpoints)
        if len(amended) < IN_ONE_COMMIT:
            said = command.model_dump(exclude={"reason"}, exclude_unset=True)
            context.trail.note("endpoint", None, after=said | {"endpoints": steered, "not_applied": kept})
            return Steered(endpoints=steered, not_applied=kept)
        after = amended[-1].endpoint.id


TOOLS = (propose_interval, propose_next_time, pause_until, pause_endpoints, resume_endpoints)
