"""A trial run of an endpoint's target, which is not recorded."""

from pydantic import JsonValue

from cadenza.domain.access.key import Scope
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Claim, RunStatus
from cadenza.operations.context import RequestContext
from cadenza.operations.operation import View, operation
from cadenza.operations.scheduling.endpoints import OneEndpoint, require_live
from cadenza.ports.access import QuotaAnswer


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
