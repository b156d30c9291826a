"""Runs whose lease ran out, and one-shot hints that expired unserved: what the sweeper ends."""

from datetime import datetime

from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Claim, Completion, Outcome, Run, RunStatus
from cadenza.domain.scheduling.steer import ChangedEndpoint, without_stale_hints


def sweep_at(endpoint: Endpoint) -> datetime | None:
    """The moment from which the sweeper has something to do here."""
    if endpoint.lease is not None:
        return endpoint.lease.until
    hint = endpoint.one_shot_hint
    if hint is None:
        return None
    will_run_first = endpoint.next_run_at is not None and endpoint.next_run_at <= hint.expires_at
    return None if will_run_first else hint.expires_at


def abandonment(endpoint: Endpoint, run: Run, now: datetime) -> Completion:
    """The completion of a run whose lease ran out."""
    assert endpoint.lease is not None, "only a lease can run out"
    claim = Claim(
        run_id=run.id,
        token=endpoint.lease.token,
        endpoint=endpoint,
        slot=run.slot,
        due_at=run.due_at,
        attempt=run.attempt,
        source=run.source,
        claimed_at=run.claimed_at,
        lease_until=endpoint.lease.until,
        started_at=run.started_at,
    )
    return Completion(claim, Outcome(RunStatus.ABANDONED, error="its worker let the lease run out"), now)


def tidy(endpoint: Endpoint, *, now: datetime) -> ChangedEndpoint:
    """The endpoint without its stale hints."""
    return ChangedEndpoint(*without_stale_hints(endpoint, now))
