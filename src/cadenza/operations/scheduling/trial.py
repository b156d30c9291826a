"""Trials of targets, stored or not: a target is really called, and no run is recorded."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil

from pydantic import JsonValue

from cadenza.domain.access.key import Scope
from cadenza.domain.agents.schedule_protection import refuse_schedule
from cadenza.domain.errors import Conflict, TooOften
from cadenza.domain.monitoring.heartbeat import is_heartbeat, refuse_heartbeat
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import DEFAULT_TIMEOUT_MS, Policy, cut_timeout
from cadenza.domain.scheduling.run import Claim, RunStatus
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Span
from cadenza.operations.operation import Command, View, operation
from cadenza.operations.scheduling.endpoints import OneEndpoint, require_live, unsaved_endpoint
from cadenza.operations.scheduling.schemas import TargetShape, part
from cadenza.ports.access import QuotaAnswer

LONGEST_TRIAL_MS = 30_000
TRIALS_AT_ONCE = 10
"""Trials of one tenant that a process has in flight."""


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
