"""Endpoints, claims and runs as rows, and back."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import orjson

from cadenza.adapters.stores.common import read_limited_by, write_limited_by
from cadenza.adapters.stores.sql.scheduling.definition import read_definition
from cadenza.adapters.stores.sql.scheduling.requests import read_cancel_request, read_requests, write_requests
from cadenza.domain.scheduling.abandon import requirement_of, sweep_at
from cadenza.domain.scheduling.due import claimable_at
from cadenza.domain.scheduling.endpoint import Endpoint, Lease, OpenSlot, restore_endpoint
from cadenza.domain.scheduling.hint import HintKind, IntervalHint, OneShotHint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import UNKNOWN_DEATH, Claim, ProcessDeath, Run, RunStatus
from cadenza.domain.scheduling.steer import HintRecord

EPOCH, MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
SOURCES = {source.value: source for source in Source}
STATUSES = {status.value: status for status in RunStatus}


class Row(Protocol):
    """What both drivers answer: columns by their place."""

    def __getitem__(self, place: Any, /) -> Any: ...

    def __iter__(self) -> Iterator[Any]: ...


Read = Callable[[Any], Any]
"""How a driver's moment becomes a datetime, and NULL becomes None."""

STATE_COLUMNS = (
    "claimable_at",
    "tidy_at",
    "requirement",
    "next_run_at",
    "next_source",
    "last_run_at",
    "skipped_at",
    "paused_until",
    "quota_opens_at",
    "missed_slots",
    "failure_count",
    "abandoned_count",
    "open_slot_at",
    "open_slot_attempts",
    "interval_hint_ms",
    "interval_hint_expires_at",
    "interval_hint_reason",
    "interval_hint_origin",
    "one_shot_at",
    "one_shot_expires_at",
    "one_shot_reason",
    "one_shot_origin",
    "pause_reason",
    "pause_origin",
    "abandoned_alone_count",
    "requested_runs",
    "cancel_request",
    "request_slot_at",
    "request_attempt",
    "request_source",
    "enabled",
    "archived",
    "job_active",
    "limited_by",
    "priority",
)
"""The columns of a state that a change may touch, in the order of `write_state`."""

STEERING_COLUMNS = (*STATE_COLUMNS[6:9], *STATE_COLUMNS[12:28])
"""Those of them that nearly always hold nothing."""
OWNER_COLUMNS = ("tenant_id", "id", "job_id", "name", "description", "definition")
OPEN_RUN_COLUMNS = (
    "run_id",
    "run_slot",
    "run_due_at",
    "run_attempt",
    "run_source",
    "run_claimed_at",
    "run_started_at",
)
ENDPOINT_COLUMNS = (
    *(f"e.{column}" for column in OWNER_COLUMNS),
    *(f"s.{column}" for column in STATE_COLUMNS[3:]),
    *(f"s.{column}" for column in ("lease_token", "lease_until", *OPEN_RUN_COLUMNS, "version")),
)
"""What is selected to read an endpoint with its open run, from `endpoints e` and `endpoint_states s`."""
ENDPOINT_ALONE = len(ENDPOINT_COLUMNS) - len(OPEN_RUN_COLUMNS)
"""The first so many of them, up to the id of the run, are an endpoint."""
FROM_ENDPOINTS = (
    "FROM endpoint_states s JOIN endpoints e ON e.tenant_id = s.tenant_id AND e.id = s.endpoint_id"
)
SELECT_ENDPOINT = f"SELECT {', '.join(ENDPOINT_COLUMNS)} {FROM_ENDPOINTS}"
SELECT_ENDPOINT_ALONE = f"SELECT {', '.join(ENDPOINT_COLUMNS[:ENDPOINT_ALONE])} {FROM_ENDPOINTS}"
LISTED_RUN_COLUMNS = Run._fields[:-1]
"""What is selected to read many runs: all but the traceback, which is shown with one run alone."""
NO_HINT = (None, None, None, None)
LIVE = f"NOT archived AND next_source <> '{Source.FINISHED.value}'"
"""The states of endpoints that count towards a limit, as `Endpoint.live` says."""
LEASE = len(OWNER_COLUMNS) + len(STATE_COLUMNS) - 3
RUN_ID = LEASE + 2
VERSION = len(ENDPOINT_COLUMNS) - 1


def to_micros(moment: datetime | None) -> int | None:
    """A moment as SQLite keeps it."""
    if moment is None:
        return None
    return (moment - EPOCH) // MICROSECOND


def from_micros(micros: int | None) -> datetime | None:
    """The moment that SQLite stores as microseconds."""
    return None if micros is None else EPOCH + timedelta(0, 0, micros)


def write_state(endpoint: Endpoint) -> tuple[Any, ...]:
    """The columns `STATE_COLUMNS` of an endpoint."""
    slot, interval, one_shot = endpoint.open_slot, endpoint.interval_hint, endpoint.one_shot_hint
    return (
        claimable_at(endpoint),
        sweep_at(endpoint) if one_shot is not None and endpoint.lease is None else None,
        requirement_of(endpoint),
        endpoint.next_run_at,
        endpoint.next_source._value_,
        endpoint.last_run_at,
        endpoint.skipped_at,
        endpoint.paused_until,
        endpoint.quota_opens_at,
        endpoint.missed_slots,
        endpoint.failure_count,
        endpoint.abandoned_count,
        *(slot or (None, None)),
        *(
            (interval.interval_ms, interval.expires_at, interval.reason, interval.origin)
            if interval
            else NO_HINT
        ),
        *((one_shot.at, one_shot.expires_at, one_shot.reason, one_shot.origin) if one_shot else NO_HINT),
        endpoint.pause_reason,
        endpoint.pause_origin,
        endpoint.abandoned_alone_count or None,
        *write_requests(endpoint),
        endpoint.enabled,
        endpoint.archived,
        endpoint.job_active,
        write_limited_by(endpoint),
        endpoint.priority,
    )


def read_endpoint(row: Row, read: Read) -> Endpoint:
    """The endpoint of a row selected as `ENDPOINT_COLUMNS`, or as the first of them that are an endpoint."""
    next_run_at, next_source, last_run_at = row[6:9]
    missed_slots, failure_count, abandoned_count = row[12:15]
    enabled, archived, job_active, limited_by, _, token, until, run_id = row[33:41]
    steering = (*row[9:12], *row[15:31])
    return restore_endpoint(
        {
            **read_owner_columns(row[:6]),
            **(
                UNSTEERED
                if steering == NO_STEERING
                else read_steering(steering, read, leased=token is not None)
            ),
            "next_run_at": read(next_run_at),
            "next_source": SOURCES[next_source],
            "last_run_at": read(last_run_at),
            "missed_slots": missed_slots,
            "failure_count": failure_count,
            "abandoned_count": abandoned_count,
            "enabled": bool(enabled),
            "archived": bool(archived),
            "job_active": bool(job_active),
            "limited_by": read_limited_by(limited_by),
            "lease": None if token is None else Lease(token, run_id, read(until)),
        }
    )


def read_owner_columns(columns: Iterable[Any]) -> dict[str, Any]:
    """What an endpoint's owner wrote, from the columns `OWNER_COLUMNS`."""
    tenant_id, id_, job_id, name, description, definition = columns
    of_row = {"tenant_id": tenant_id, "id": id_, "job_id": job_id, "name": name, "description": description}
    return read_definition(definition) | of_row


def read_steering(columns: Iterable[Any], read: Read, *, leased: bool = False) -> dict[str, Any]:
    """Hints, pause and the like of an endpoint, from the columns `STEERING_COLUMNS`."""
    skipped_at, paused_until, quota_opens_at, slot_at, attempts, *others = columns
    *hints, pause_reason, pause_origin, alone, requested, cancel_request, in_flight = others
    interval_ms, interval_until, interval_reason, interval_origin, at, until, reason, origin = hints
    return {
        "skipped_at": read(skipped_at),
        "paused_until": read(paused_until),
        "quota_opens_at": read(quota_opens_at),
        "open_slot": None if slot_at is None else OpenSlot(read(slot_at), attempts),
        "interval_hint": None
        if interval_ms is None
        else IntervalHint(interval_ms, read(interval_until), interval_reason, interval_origin),
        "one_shot_hint": None if at is None else OneShotHint(read(at), read(until), reason, origin),
        "pause_reason": pause_reason,
        "pause_origin": pause_origin,
        "abandoned_alone_count": alone or 0,
        "requested": requested and read_requests(requested, read(in_flight) if leased else None),
        "cancel_request": cancel_request and read_cancel_request(cancel_request),
    }


NO_STEERING = (None,) * len(STEERING_COLUMNS)
UNSTEERED = read_steering(NO_STEERING, from_micros)
"""What is read for an endpoint that nobody steers, as nearly all."""


def read_open_run(row: Row, read: Read) -> Run | None:
    """The run that is open in a row selected as `ENDPOINT_COLUMNS`, if any."""
    if row[LEASE] is None:
        return None
    run_id, slot, due_at, attempt, source, claimed_at, started_at = row[RUN_ID:VERSION]
    return Run(
        id=run_id,
        tenant_id=row[0],
        job_id=row[2],
        endpoint_id=row[1],
        slot=read(slot),
        due_at=read(due_at),
        attempt=attempt,
        source=SOURCES[source],
        claimed_at=read(claimed_at),
        started_at=read(started_at),
    )


def read_death(row: Row) -> ProcessDeath:
    """What was in flight when a lease ran out, from its columns token, `in_flight` and `suspects`."""
    return UNKNOWN_DEATH if row[1] is None else ProcessDeath(row[1], row[2])


def write_run(run: Run) -> tuple[Any, ...]:
    """The columns of a closed run, in the order of the fields of `Run`."""
    assert run.status is not None, "an open run is in its endpoint's state"
    response = None if run.response is None else document(run.response)
    words = (storable(run.error), storable(run.reason), response, storable(run.traceback))
    return (*run[:7], run.source._value_, *run[8:11], run.status._value_, *run[12:16], *words)


def document(response: Any) -> str:
    """A response as JSON; if JSON cannot express it, as text: one odd response must not fail a batch."""
    try:
        return orjson.dumps(response).decode()
    except TypeError:
        return orjson.dumps(storable(str(response))).decode()


def storable(text: str | None) -> str | None:
    """A text without the characters that a database refuses."""
    if text is None or (text.isascii() and "\0" not in text):
        return text
    return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


def read_run(row: Row, read: Read) -> Run:
    """The run of a row with the columns of `Run`, or `LISTED_RUN_COLUMNS`, in the order of its fields."""
    run = Run(*row)
    return run._replace(
        slot=read(run.slot),
        due_at=read(run.due_at),
        source=SOURCES[row[7]],
        claimed_at=read(run.claimed_at),
        started_at=read(run.started_at),
        finished_at=read(run.finished_at),
        status=STATUSES[row[11]],
        verdict=bool(run.verdict),
        response=None if row[18] is None else orjson.loads(row[18]),
    )


def read_hint(row: Row, read: Read) -> HintRecord:
    """The line of the hint history in a row with the columns of `HintRecord`."""
    kind, written_at, origin, reason, expires_at, interval_ms, at, not_applied = row
    return HintRecord(
        HintKind(kind),
        read(written_at),
        origin,
        reason,
        read(expires_at),
        interval_ms,
        read(at),
        not_applied,
    )


def holds_lease(row: Row, claim: Claim) -> bool:
    """Is this claim's lease still the one in the row?"""
    return (row[LEASE], row[RUN_ID]) == (claim.token, claim.run_id)
