"""Previews of steering and of new baselines, and trials of targets; none of them is recorded as a run."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from math import ceil
from typing import Annotated, Any, Self

from pydantic import JsonValue

from cadenza.domain.access.key import Scope
from cadenza.domain.agents.schedule_protection import refuse_schedule
from cadenza.domain.errors import Conflict, InvalidRequest, TooOften
from cadenza.domain.monitoring.forecast import ForecastRun, forecast_runs
from cadenza.domain.monitoring.heartbeat import is_heartbeat, refuse_heartbeat
from cadenza.domain.scheduling import steer
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import DEFAULT_TIMEOUT_MS, Policy, cut_timeout
from cadenza.domain.scheduling.run import Claim, RunStatus
from cadenza.domain.scheduling.steer import ChangedEndpoint, plan_first_run
from cadenza.engine.steering import COMMANDS
from cadenza.engine.steering_commands import ClearHints
from cadenza.operations.context import RequestContext
from cadenza.operations.documented_models import part
from cadenza.operations.fields import Flag, Span, Whole
from cadenza.operations.operation import Command, View, operation
from cadenza.operations.scheduling.endpoint_parts.baselines import with_named_calendars
from cadenza.operations.scheduling.endpoint_parts.calendar_rules import CalendarRulesShape, resolve_shape
from cadenza.operations.scheduling.endpoint_parts.commands import OneEndpoint
from cadenza.operations.scheduling.endpoint_view import PlanView
from cadenza.operations.scheduling.endpoints import require_live, unsaved_endpoint, within_limits
from cadenza.operations.scheduling.schemas import NO_GUARD, BaselineShape, GuardShape, TargetShape
from cadenza.operations.scheduling.steering import explain_plan
from cadenza.ports.access import QuotaAnswer

DEFAULT, MOST = 12, 200
LONGEST_TRIAL_MS = 30_000
TRIALS_AT_ONCE = 10
"""Trials of one tenant that a process has in flight."""


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
    calendar: CalendarRulesShape | None = None
    """When it may run; null for always."""
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

    The guard, calendars and the tenant's limits bound it as they would bound an endpoint.
    """
    now, cron = context.dependencies.clock.now(), context.dependencies.cron
    limits = (await context.store.tenants.tenant(context.tenant_id)).limits
    draft = unsaved_endpoint(
        context,
        **await with_named_calendars(context, {"baseline": part("baseline", command.baseline.to_domain)}),
        guard=part("guard", command.guard.to_domain),
        calendar_rules=await resolve_shape(context, command.calendar),
    )
    wanted = within_limits(context, draft, limits)
    planned = plan_first_run(wanted, now=now, cron=cron, start_now=command.start_now)
    runs = forecast_runs(planned, now=now, cron=cron, most=command.runs)
    return BaselinePreviewView(now=now, runs=[ForeseenView(**one._asdict()) for one in runs])


PREVIEW = (preview_steering, preview_baseline)


class TestTarget(Command):
    """A target that is not stored."""

    __test__ = False

    target: TargetShape
    timeout_ms: Span = DEFAULT_TIMEOUT_MS
    """Over the whole exchange; 30 seconds at most."""


class TrialView(View):
    """What the target answered."""

    status: RunStatus
    duration_ms: int
    error: str | None
    response: JsonValue


@operation("POST /v1/endpoints/{endpoint_id}/test", Scope.STEER, calls_out=True)
async def test_endpoint(context: RequestContext, command: OneEndpoint) -> TrialView:
    """Test the target of an endpoint once and show its answer.

    No run is recorded, counted or rescheduled; the target itself is really called, for 30 seconds at
    most, and no longer than the caller waits. An endpoint is tried 30 times a minute at most, all of a
    tenant's 120 times, in windows of ten seconds, and 10 of them at a time in each process.
    """
    endpoint = require_live(await context.store.endpoints.get(context.key(command.endpoint_id)))
    refuse_schedule(endpoint)
    refuse_heartbeat(endpoint)
    return await _try(context, endpoint)


@operation("POST /v1/targets/test", Scope.WRITE, agent=False, calls_out=True)
async def test_target(context: RequestContext, command: TestTarget) -> TrialView:
    """Test a target that is not stored yet, and show its answer.

    As with the test of an endpoint, no run is recorded, and the target itself is really called, by the same
    rules: all targets of a tenant that are not stored count as one endpoint.
    """
    endpoint = unsaved_endpoint(
        context,
        target=part("target", command.target.to_domain),
        policy=part("timeout_ms", lambda: Policy(timeout_ms=command.timeout_ms)),
    )
    if is_heartbeat(endpoint):
        raise Conflict("A heartbeat cannot be tested: its sender runs it, not Cadenza.")
    target = command.target.model_dump(mode="json", exclude_unset=True)
    context.trail.note("target", None, after={"target": target})
    return await _try(context, endpoint)


async def _try(context: RequestContext, endpoint: Endpoint) -> TrialView:
    wait = await context.dependencies.take_trial(endpoint.key)
    if wait is not None:
        raise TooOften(f"{endpoint.name} was tried too often just now; wait a while.", max(1, ceil(wait)))
    with _counted(context.dependencies.trials, context.tenant_id):
        claim = _trial_claim(context, endpoint)
        outcome = (await context.dependencies.executor.execute(claim, QuotaAnswer())).outcome
    return TrialView(
        status=outcome.status,
        duration_ms=outcome.duration_ms,
        error=outcome.error,
        response=outcome.response,
    )


@contextmanager
def _counted(trials: Counter[str], tenant_id: str) -> Iterator[None]:
    """Count a trial while it goes on; TooOften if the tenant has as many as allowed."""
    if trials[tenant_id] >= TRIALS_AT_ONCE:
        raise TooOften(f"{TRIALS_AT_ONCE} trials are going on, as many as may; wait until one ends.", 1)
    trials[tenant_id] += 1
    try:
        yield
    finally:
        trials[tenant_id] -= 1
        if not trials[tenant_id]:
            del trials[tenant_id]


def _trial_claim(context: RequestContext, endpoint: Endpoint) -> Claim:
    """A claim that is not in the store, with a timeout that somebody would wait for."""
    tried = evolve(endpoint, policy=cut_timeout(endpoint.policy, LONGEST_TRIAL_MS))
    now, ids = context.dependencies.clock.now(), context.dependencies.ids
    return Claim(
        run_id=ids.new(),
        token=ids.new(),
        endpoint=tried,
        slot=now,
        due_at=now,
        attempt=1,
        source=Source.MANUAL,
        claimed_at=now,
        lease_until=now,
        started_at=now,
    )


TRIAL = (test_endpoint, test_target)
