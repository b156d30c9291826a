"""What a steering call would change, and a trial run of a target; neither is recorded."""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import JsonValue

from cadenza.domain.access.key import Scope
from cadenza.domain.agents.schedule_protection import refuse_schedule
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.monitoring.forecast import ForecastRun, forecast_runs
from cadenza.domain.scheduling import steer
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Claim, RunStatus
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.engine.steering import COMMANDS
from cadenza.engine.steering_commands import SteeringContext
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Whole
from cadenza.operations.operation import View, operation
from cadenza.operations.scheduling.endpoint_view import PlanView
from cadenza.operations.scheduling.endpoints import OneEndpoint, require_live
from cadenza.operations.scheduling.steering import explain_plan
from cadenza.ports.access import QuotaAnswer

DEFAULT, MOST = 12, 200


class Way(StrEnum):
    """The ways to steer: the three tools, and what else people do."""

    PROPOSE_INTERVAL = "propose_interval"
    PROPOSE_NEXT_TIME = "propose_next_time"
    PAUSE_UNTIL = "pause_until"
    CLEAR_HINTS = "clear_hints"
    RUN_NOW = "run_now"


class PreviewSteering(OneEndpoint):
    """A change to an endpoint's plan that is only tried out."""

    tool: Way
    arguments: dict[str, JsonValue] = {}
    """What the tool takes, by the same names; `clear_hints` and `run_now` take nothing."""
    runs: Annotated[int, Whole(1, MOST)] = DEFAULT
    """How many of the next runs to show."""


class ForeseenView(View):
    """A future run, if each run starts on time and no other hints come."""

    at: datetime
    source: Source


class CourseView(View):
    """An endpoint's plan and its next runs."""

    plan: PlanView
    runs: list[ForeseenView]


class PreviewView(View):
    """The endpoint's plan and next runs, before and after the change."""

    before: CourseView
    after: CourseView
    changed: bool
    """Whether the next run would be at another moment."""

    @classmethod
    def of(cls, before: CourseView, after: CourseView) -> Self:
        """The view of a comparison."""
        changed = before.plan.next_run_at != after.plan.next_run_at
        return cls(before=before, after=after, changed=changed)


@operation("POST /v1/endpoints/{endpoint_id}/preview", Scope.READ, agent=False)
async def preview_steering(context: RequestContext, command: PreviewSteering) -> PreviewView:
    """Show what steering an endpoint would change: its plan and its next runs, before and after.

    It is the same change that the tool would make, applied to the endpoint as it is, and not stored.
    """
    endpoint = require_live(await context.store.endpoints.get(context.key(command.endpoint_id)))
    change = _change(context, command)
    before, after = ChangedEndpoint(endpoint), change(endpoint)
    return PreviewView.of(_outlook(context, before, command.runs), _outlook(context, after, command.runs))


def _change(context: RequestContext, command: PreviewSteering) -> Callable[[Endpoint], ChangedEndpoint]:
    now, cron, origin = context.dependencies.clock.now(), context.dependencies.cron, context.caller.origin
    arguments: Mapping[str, Any] = command.arguments
    tool = COMMANDS.get(command.tool)
    if tool is not None:
        asked = tool.parse(arguments)
        return lambda endpoint: asked.apply(endpoint, SteeringContext(now=now, cron=cron, origin=origin))
    if arguments:
        raise InvalidRequest(f"{command.tool} takes no arguments.", "arguments")
    if command.tool is Way.RUN_NOW:
        return lambda endpoint: steer.run_now(endpoint, now=now)
    return lambda endpoint: steer.clear_hints(endpoint, now=now, cron=cron, origin=origin)


def _outlook(context: RequestContext, changed: ChangedEndpoint, most: int) -> CourseView:
    dependencies = context.dependencies
    runs: list[ForecastRun] = forecast_runs(
        changed.endpoint, now=dependencies.clock.now(), cron=dependencies.cron, most=most
    )
    return CourseView(
        plan=explain_plan(context, changed), runs=[ForeseenView(**one._asdict()) for one in runs]
    )


PREVIEW = (preview_steering,)


class TrialView(View):
    """What the target answered."""

    status: RunStatus
    duration_ms: int
    error: str | None
    response: JsonValue


@operation("POST /v1/endpoints/{endpoint_id}/test", Scope.STEER)
async def test_endpoint(context: RequestContext, command: OneEndpoint) -> TrialView:
    """Try an endpoint's target once, and show what it answers.

    Nothing is recorded, counted or planned anew; the target itself is really called.
    """
    endpoint = require_live(await context.store.endpoints.get(context.key(command.endpoint_id)))
    refuse_schedule(endpoint)
    completion = await context.dependencies.executor.execute(_trial_claim(context, endpoint), QuotaAnswer())
    outcome = completion.outcome
    return TrialView(
        status=outcome.status,
        duration_ms=outcome.duration_ms,
        error=outcome.error,
        response=outcome.response,
    )


def _trial_claim(context: RequestContext, endpoint: Endpoint) -> Claim:
    """A claim that is not in the store."""
    now, ids = context.dependencies.clock.now(), context.dependencies.ids
    return Claim(
        run_id=ids.new(),
        token=ids.new(),
        endpoint=endpoint,
        slot=now,
        due_at=now,
        attempt=1,
        source=Source.MANUAL,
        claimed_at=now,
        lease_until=now,
        started_at=now,
    )


TRIAL = (test_endpoint,)
