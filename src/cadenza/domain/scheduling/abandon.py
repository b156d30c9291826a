"""What ends without a claim: runs whose lease ran out, expired hints, functions that no process declares."""

from datetime import datetime

from cadenza.domain.scheduling.due import due
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import CronClock
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Claim, Completion, Outcome, Run, RunStatus, SkippedSlot
from cadenza.domain.scheduling.steer import ChangedEndpoint, replan, without_one_shot_of, without_stale_hints


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


UNDECLARED = "no program declares its function"


def retire(endpoint: Endpoint, *, now: datetime) -> ChangedEndpoint:
    """Plan nothing for it any more; a slot that is due or waits for a retry is skipped.

    A pause stays: it holds when the endpoint comes back.
    """
    retired = evolve(endpoint, next_run_at=None, next_source=Source.RETIRED, open_slot=None, missed_slots=0)
    slot = endpoint.open_slot.slot if endpoint.open_slot else endpoint.next_run_at
    if slot is None or not (endpoint.open_slot or due(endpoint, now)):
        return ChangedEndpoint(retired)
    passed = SkippedSlot(slot, endpoint.next_source, UNDECLARED, now)
    return ChangedEndpoint(without_one_shot_of(slot, retired), (passed,))


def bring_back(endpoint: Endpoint, *, now: datetime, cron: CronClock) -> ChangedEndpoint:
    """Plan a retired endpoint anew: an interval that passed meanwhile is due at once."""
    if not endpoint.retired:
        return ChangedEndpoint(endpoint)
    return ChangedEndpoint(replan(evolve(endpoint, next_source=Source.FIRST), now, cron))
