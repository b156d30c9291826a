"""Requested runs that wait: when they may start, and what becomes of them if nothing runs them."""

from datetime import datetime

from cadenza.domain.scheduling.calendars.gate import first_open
from cadenza.domain.scheduling.calendars.rules import NO_RULES
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.nudge import earliest_run
from cadenza.domain.scheduling.requested_runs.queue import RunRequest
from cadenza.domain.scheduling.run import RunStatus, SkippedSlot


def request_opens_at(endpoint: Endpoint) -> datetime | None:
    """The moment from which the first requested run may start; None if there is none or a gate is closed.

    1. It waits since it was asked for, or since the requested run before it ended.
    2. The guard, a pause and a closed quota hold it like any other run.
    3. What is switched off, deleted or retired runs nothing; an endpoint that is finished does.
    4. While its calendars are closed it waits for the opening; without one ahead it does not start.
    """
    queue = endpoint.requested
    if queue is None or not endpoint.switched_on or endpoint.retired:
        return None
    moment = earliest_run(endpoint, queue.since)
    for gate in (endpoint.paused_until, endpoint.quota_opens_at):
        if gate is not None and gate > moment:
            moment = gate
    rules = endpoint.calendar_rules
    return moment if rules is NO_RULES else first_open(rules, moment)


def next_request(endpoint: Endpoint, regular: datetime | None) -> RunRequest | None:
    """The requested run that goes before the regular one, which may start at this moment; None if none does.

    1. Whichever may start earlier goes first.
    2. If both may start at once, as after a pause, it is the one that has waited longer.

    So a long backfill takes turns with a schedule that is always due, and neither keeps the other waiting.
    """
    queue, moment = endpoint.requested, request_opens_at(endpoint)
    if moment is None or queue is None or (regular is not None and regular < moment):
        return None
    if regular == moment and _waits_since(endpoint) <= queue.since:
        return None
    return queue.waiting[0]


def _waits_since(endpoint: Endpoint) -> datetime:
    """When the slot of the schedule came due, or will."""
    slot = endpoint.next_run_at if endpoint.open_slot is None else endpoint.open_slot.slot
    assert slot is not None, "what may start has a slot"
    return slot


def without_requests(
    endpoint: Endpoint, reason: str, now: datetime
) -> tuple[Endpoint, tuple[SkippedSlot, ...]]:
    """The endpoint without requested runs; those that wait are cancelled, and one in flight ends normally."""
    queue = endpoint.requested
    if queue is None:
        return endpoint, ()
    gone = tuple(cancelled_request(one, reason, now) for one in queue.waiting if one.slot != queue.in_flight)
    return evolve(endpoint, requested=None), gone


def cancelled_request(asked: RunRequest, reason: str, now: datetime) -> SkippedSlot:
    """What is recorded of a requested run that is cancelled before it was claimed."""
    return SkippedSlot(asked.slot, asked.source, reason, now, RunStatus.CANCELLED, asked.attempt)
