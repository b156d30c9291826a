"""What the end of a requested run leaves: a request served or still waiting, and the schedule as it was."""

from datetime import datetime
from typing import NamedTuple

from cadenza.domain.scheduling.abandon import due_slot, is_culprit, paused_as_culprit
from cadenza.domain.scheduling.endpoint import Endpoint, OpenSlot, evolve
from cadenza.domain.scheduling.hint import origin_text
from cadenza.domain.scheduling.nudge import earliest_run
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.requested_runs.queue import RequestQueue
from cadenza.domain.scheduling.run import Claim, Completion, Outcome, RunStatus, SkippedSlot

SERVED = frozenset({RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.TIMEOUT})
"""How a requested run ends for good; any other end is followed by a further run, unless it was cancelled."""


def is_cancelled(endpoint: Endpoint, claim: Claim) -> bool:
    """Is the run of this claim asked to be cancelled?"""
    asked = endpoint.cancel_request
    return asked is not None and asked.run_id == claim.run_id


def with_cancel_words(endpoint: Endpoint, completion: Completion) -> Completion:
    """The completion of a run that was asked to be cancelled: cancelled, with who asked and why.

    One that had ended when the request reached it keeps its outcome.
    """
    asked, outcome = endpoint.cancel_request, completion.outcome
    if asked is None or outcome.status not in (RunStatus.CANCELLED, RunStatus.ABANDONED):
        return completion
    words = cancel_words(asked.origin, asked.reason)
    return completion._replace(outcome=Outcome(RunStatus.CANCELLED, outcome.duration_ms, reason=words))


def cancel_words(origin: str, reason: str | None) -> str:
    """Who cancelled a run, and why."""
    return f"cancelled by {origin_text(origin)}" + (f": {reason}" if reason else "")


class AfterRequest(NamedTuple):
    """An endpoint after a requested run, and the slot of its schedule that is skipped with it, if any."""

    endpoint: Endpoint
    skipped: tuple[SkippedSlot, ...] = ()


def after_request(
    endpoint: Endpoint, completion: Completion, now: datetime, *, cancelled: bool
) -> AfterRequest:
    """The endpoint after a requested run.

    1. A run that ended by itself, or was asked to be cancelled, has served its request.
    2. What its worker gave up goes on waiting in its place, and its next run is the next attempt; if it
       is no longer asked for, because its endpoint was deleted, it does not come back.
    3. The schedule keeps its next run, not before the guard allows it after this one.
    4. An endpoint that ends its processes is paused; a slot of its schedule that is due is skipped.
    """
    claim, outcome, _ = completion
    if (queue := endpoint.requested) is not None:
        served = cancelled or outcome.status in SERVED
        kept = _without(queue, claim, now) if served else _still_waiting(queue, completion)
        endpoint = evolve(endpoint, requested=kept)
    if outcome.status is RunStatus.SKIPPED and outcome.opens_at is not None:
        endpoint = evolve(endpoint, quota_opens_at=outcome.opens_at)
    died = outcome.status is RunStatus.ABANDONED and claim.started_at is not None
    if died and is_culprit(endpoint, outcome.death):
        passed = due_slot(endpoint, now, "paused before it could start")
        return AfterRequest(paused_as_culprit(endpoint), passed)
    return AfterRequest(_guarded_schedule(endpoint, now))


def _without(queue: RequestQueue, claim: Claim, now: datetime) -> RequestQueue | None:
    others = queue.without(claim.slot)
    return RequestQueue(others, now) if others else None


def _still_waiting(queue: RequestQueue, completion: Completion) -> RequestQueue:
    claim, outcome, _ = completion
    is_used = claim.started_at is not None and outcome.status is not RunStatus.SKIPPED
    attempt = claim.attempt + 1 if is_used or outcome.status is RunStatus.ABANDONED else claim.attempt
    waiting = tuple(one._replace(attempt=attempt) if one.slot == claim.slot else one for one in queue.waiting)
    return RequestQueue(waiting, outcome.closed_until or queue.since)


def _guarded_schedule(endpoint: Endpoint, now: datetime) -> Endpoint:
    """A slot that has come due stays the same slot; a moment ahead of now may move."""
    stored = endpoint.next_run_at
    if stored is None or stored >= (moment := earliest_run(endpoint, stored)):
        return endpoint
    kept = endpoint.open_slot or (OpenSlot(stored, 0) if stored <= now else None)
    return evolve(endpoint, next_run_at=moment, next_source=Source.CLAMPED_MIN, open_slot=kept)
