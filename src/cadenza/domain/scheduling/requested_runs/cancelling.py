"""Cancels an open run, or a requested run that waits; nobody of a lower rank than who asked for it may."""

from datetime import datetime

from cadenza.domain.agents.schedule_protection import not_for_schedules
from cadenza.domain.errors import Conflict, NotAllowed
from cadenza.domain.monitoring.heartbeat import refuse_heartbeat
from cadenza.domain.scheduling.abandon import claim_of
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import CronClock
from cadenza.domain.scheduling.hint import origin_text, rank_of
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.requested_runs.ending import cancel_words
from cadenza.domain.scheduling.requested_runs.queue import CancelRequest, RequestQueue
from cadenza.domain.scheduling.requested_runs.waiting import cancelled_request
from cadenza.domain.scheduling.run import Completion, Outcome, Run, RunStatus
from cadenza.domain.scheduling.settle import settle
from cadenza.domain.scheduling.steer import ChangedEndpoint


@not_for_schedules
def cancel_open_run(
    endpoint: Endpoint, open_run: Run | None, *, asked: CancelRequest, now: datetime, cron: CronClock
) -> ChangedEndpoint:
    """Close a run that has not begun, and note of one that has that it is to be cancelled.

    Whoever asks first is named, so asking twice changes nothing. Conflict if the run has ended.
    """
    refuse_heartbeat(endpoint)
    if open_run is None or open_run.id != asked.run_id:
        raise Conflict(f"Run {asked.run_id} has ended.")
    _check_rank(_asked_by(endpoint, open_run), asked)
    if endpoint.cancel_request is not None:
        return ChangedEndpoint(endpoint)
    marked = evolve(endpoint, cancel_request=asked)
    if open_run.started_at is not None:
        return ChangedEndpoint(marked)
    completion = Completion(claim_of(marked, open_run), Outcome(RunStatus.CANCELLED), now)
    settled = settle(marked, completion, now=now, cron=cron)
    return ChangedEndpoint(settled.endpoint, settled.skipped, closed=settled.run)


@not_for_schedules
def cancel_waiting(
    endpoint: Endpoint, slot: datetime, *, asked: CancelRequest, now: datetime
) -> ChangedEndpoint:
    """Withdraw a requested run that no worker has claimed.

    Conflict if it does not wait any more.
    """
    queue = endpoint.requested
    found = None if queue is None else queue.of_slot(slot)
    if queue is None or found is None:
        raise Conflict(f"Run {asked.run_id} does not wait any more: it has begun, or it was cancelled.")
    _check_rank(found.origin, asked)
    others = queue.without(slot)
    kept = RequestQueue(others, queue.since, queue.in_flight) if others else None
    gone = cancelled_request(found, cancel_words(asked.origin, asked.reason), now)
    return ChangedEndpoint(evolve(endpoint, requested=kept), (gone,))


def _asked_by(endpoint: Endpoint, run: Run) -> str | None:
    """Who asked for a run; what nobody else asked for is its owner's, and ranks as a person's."""
    queue, hint, one_shot = endpoint.requested, endpoint.interval_hint, endpoint.one_shot_hint
    asked = None if queue is None or queue.in_flight != run.slot else queue.of_slot(run.slot)
    if asked is not None:
        return asked.origin
    if run.source is Source.AI_ONESHOT and one_shot is not None:
        return one_shot.origin or OWNER
    if run.source is Source.AI_INTERVAL and hint is not None:
        return hint.origin or OWNER
    return OWNER


OWNER = "owner"


def _check_rank(asked_by: str | None, asked: CancelRequest) -> None:
    """NotAllowed if the run was asked for by a higher rank."""
    if rank_of(asked_by) > rank_of(asked.origin):
        whose = "its owner's schedule" if asked_by == OWNER else f"{origin_text(asked_by)}"
        raise NotAllowed(
            f"Run {asked.run_id} is asked for by {whose}, which ranks higher than"
            f" {origin_text(asked.origin)}: ask a person to cancel it."
        )
