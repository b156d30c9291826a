"""What a steering call would change, and when a new endpoint would run; neither is recorded."""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import JsonValue

from cadenza.domain.access.key import Scope
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.monitoring.forecast import ForecastRun, forecast_runs
from cadenza.domain.scheduling import steer
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.steer import ChangedEndpoint, plan_first_run
from cadenza.engine.steering import COMMANDS
from cadenza.engine.steering_commands import ClearHints
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Flag, Whole
from cadenza.operations.operation import Command, View, operation
from cadenza.operations.scheduling.endpoint_view import PlanView
from cadenza.operations.scheduling.endpoints import (
    OneEndpoint,
    require_live,
    unsaved_endpoint,
    within_limits,
)
from cadenza.operations.scheduling.schemas import NO_GUARD, BaselineShape, GuardShape, part
from cadenza.operations.scheduling.steering import explain_plan

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


@operation("POST /v1/endpoints/{endpoint_id}/preview", Scope.READ, agent=False, ranked=True)
async def preview_steering(context: RequestContext, command: PreviewSteering) -> PreviewView:
    """Preview steering of an endpoint: its next runs before and after. A dry run, no changes made.

    It is the same change that the tool would make, applied to the endpoint as it is, and not stored.
    """
    endpoint = require_live(await context.store.endpoints.get(context.key(command.endpoint_id)))
    change = _change(context, command)
    before, after = ChangedEndpoint(endpoint), change(endpoint)
    return PreviewView.of(_outlook(context, before, command.runs), _outlook(context, after, command.runs))


def _change(context: RequestContext, command: PreviewSteering) -> Callable[[Endpoint], ChangedEndpoint]:
    by = context.dependencies.steering.context(context.caller.origin)
    arguments: Mapping[str, Any] = command.arguments
    tool = COMMANDS.get(command.tool)
    if tool is not None:
        asked = part("arguments", lambda: tool.parse(arguments))
        return lambda endpoint: part("arguments", lambda: asked.apply(endpoint, by))
    if arguments:
        raise InvalidRequest(f"{command.tool} takes no arguments.", "arguments")
    if command.tool is Way.RUN_NOW:
        return lambda endpoint: steer.run_now(endpoint, now=by.now)
    return lambda endpoint: ClearHints().apply(endpoint, by)


def _outlook(context: RequestContext, changed: ChangedEndpoint, most: int) -> CourseView:
    dependencies = context.dependencies
    runs: list[ForecastRun] = forecast_runs(
        changed.endpoint, now=dependencies.clock.now(), cron=dependencies.cron, most=most
    )
    return CourseView(
        plan=explain_plan(context, changed), runs=[ForeseenView(**one._asdict()) for one in runs]
    )


class PreviewBaseline(Command):
    """The schedule of an endpoint that is not stored."""

    baseline: BaselineShape
    guard: GuardShape = NO_GUARD
    start_now: Flag = False
    """Due at once, instead of one interval from now."""
    runs: Annotated[int, Whole(1, MOST)] = DEFAULT
    """How many of the next runs to show."""


class BaselinePreviewView(View):
    """When an endpoint with this schedule would run, if it were created now."""

    now: datetime
    runs: list[ForeseenView]


@operation("POST /v1/baselines/preview", Scope.READ, agent=False)
async def preview_baseline(context: RequestContext, command: PreviewBaseline) -> BaselinePreviewView:
    """Preview the next runs of a baseline that is not stored yet. A dry run, no changes made.

    The guard and the tenant's limits bound it as they would bound an endpoint.
    """
    now, cron = context.dependencies.clock.now(), context.dependencies.cron
    limits = (await context.store.tenants.tenant(context.tenant_id)).limits
    draft = unsaved_endpoint(
        context,
        baseline=part("baseline", command.baseline.to_domain),
        guard=part("guard", command.guard.to_domain),
    )
    wanted = within_limits(context, draft, limits)
    planned = plan_first_run(wanted, now=now, cron=cron, start_now=command.start_now)
    runs = forecast_runs(planned, now=now, cron=cron, most=command.runs)
    return BaselinePreviewView(now=now, runs=[ForeseenView(**one._asdict()) for one in runs])


PREVIEW = (preview_steering, preview_baseline)
