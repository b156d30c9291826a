"""A trial of an endpoint's target that leaves no trace in the schedule."""

from pydantic import JsonValue

from cadenza.domain.access.key import Scope
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Claim, RunStatus
from cadenza.operations.context import Desk
from cadenza.operations.operation import View, operation
from cadenza.operations.scheduling.endpoints import OneEndpoint, live
from cadenza.ports.access import QuotaAnswer


class TrialView(View):
    """What the target answered."""

    status: RunStatus
    duration_ms: int
    error: str | None
    response: JsonValue


@operation("POST /v1/endpoints/{endpoint_id}/test", Scope.STEER)
async def test_endpoint(desk: Desk, command: OneEndpoint) -> TrialView:
    """Try an endpoint's target once, and show what it answers.

    Nothing is recorded, counted or planned anew; the target itself is really called.
    """
    endpoint = live(await desk.store.get(desk.key(command.endpoint_id)))
    completion = await desk.supplies.executor.execute(_trial(desk, endpoint), QuotaAnswer())
    outcome = completion.outcome
    return TrialView(
        status=outcome.status,
        duration_ms=outcome.duration_ms,
        error=outcome.error,
        response=outcome.response,
    )


def _trial(desk: Desk, endpoint: Endpoint) -> Claim:
    """A claim that no store knows."""
    now, ids = desk.supplies.clock.now(), desk.supplies.ids
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
