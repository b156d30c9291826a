"""Requested runs, and the request to cancel one, as columns of an endpoint's state."""

from datetime import datetime
from itertools import groupby
from typing import Any

import orjson

from cadenza.domain.scheduling.due import request_to_claim
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.requested_runs.queue import CancelRequest, RequestQueue, RunRequest

NONE = (None,) * 5


def write_requests(endpoint: Endpoint) -> tuple[Any, ...]:
    """The columns from `requested_runs` to `request_source`.

    The last three name the requested run that the next claim, or the present lease, is for: so the claim
    of a requested run is the same statement as any other.
    """
    queue, cancel = endpoint.requested, endpoint.cancel_request
    if queue is None and cancel is None:
        return NONE
    asked = request_to_claim(endpoint)
    return (
        None if queue is None else _write_queue(queue),
        None if cancel is None else orjson.dumps(tuple(cancel)).decode(),
        *((None, None, None) if asked is None else (asked.slot, asked.attempt, asked.source.value)),
    )


def read_requests(text: str, in_flight: datetime | None) -> RequestQueue:
    """The requested runs that wait, and the slot of the one in flight."""
    since, groups = orjson.loads(text)
    waiting = tuple(
        RunRequest(datetime.fromisoformat(slot), attempt, Source(source), origin, reason)
        for source, origin, reason, slots in groups
        for slot, attempt in slots
    )
    return RequestQueue(waiting, datetime.fromisoformat(since), in_flight)


def read_cancel_request(text: str) -> CancelRequest:
    """The request to cancel the run in flight."""
    run_id, origin, asked_at, reason = orjson.loads(text)
    return CancelRequest(run_id, origin, datetime.fromisoformat(asked_at), reason)


def _write_queue(queue: RequestQueue) -> str:
    """What was asked for together is written with its origin and reason once."""
    groups = groupby(queue.waiting, key=lambda one: (one.source.value, one.origin, one.reason))
    written = [(*asked, [(one.slot, one.attempt) for one in slots]) for asked, slots in groups]
    return orjson.dumps((queue.since, written)).decode()
