"""One execution: the claim to it, what the dispatcher saw, and the row that remains."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from cadenza.domain.agents.conversation import Turn
from cadenza.domain.job_failure import ErrorClass
from cadenza.domain.json_values import Json
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.plan import RunKind, Source, kind_of
from cadenza.domain.validation import iso, milliseconds
from cadenza.domain.wording import span_in_words

ON_TIME, MILLISECOND = milliseconds(0), milliseconds(1)
RERUN, BACKFILL = Source.RERUN, Source.BACKFILL  # Python 3.11 is slow to find members.


class RunStatus(StrEnum):
    """What became of a run."""

    SUCCESS = "success"
    FAILURE = "failure"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    ABANDONED = "abandoned"
    SKIPPED = "skipped"


class ProcessDeath(NamedTuple):
    """What was in flight when a process died, or lost its lease because it hung."""

    in_flight: int
    """How many runs had been dispatched and had not been settled."""
    suspects: int
    """How many of them were of endpoints that had been in flight at an earlier death, and not ended since."""


UNKNOWN_DEATH = ProcessDeath(in_flight=2, suspects=2)
"""Where nobody knows, nobody was alone."""


class Outcome(NamedTuple):
    """What a dispatcher saw; a failing endpoint is a value, not an exception."""

    status: RunStatus
    duration_ms: int = 0
    error: str | None = None
    response: Json = None
    reason: str | None = None
    """Why a run was skipped or cancelled, in words."""
    opens_at: datetime | None = None
    """With a run skipped for its quota: when the quota opens."""
    turn: Turn | None = None
    """The turn of an agent; committed with the run, and not at all if the lease is lost."""
    error_class: ErrorClass = ErrorClass.UNKNOWN
    """The kind of error of a failure, for telemetry."""
    traceback: str | None = None
    """Where a function raised, as `traceback_text` has it."""
    death: ProcessDeath = UNKNOWN_DEATH
    """With an abandoned run: what was in flight beside it."""
    seen: Json = None
    """What a probe answered, as it is kept for the next to be compared with, in the commit of the run."""
    closed_until: datetime | None = None
    """With a run that calendars keep from starting, skipped or cancelled: when they open."""

    @property
    def ran(self) -> bool:
        """Did something run? A slot whose probe saw nothing new is skipped, and yet it was served."""
        return self.status is not RunStatus.SKIPPED or self.seen is not None


class Claim(NamedTuple):
    """The right to run an endpoint once, with the endpoint as it was when claimed."""

    run_id: str
    token: str
    endpoint: Endpoint
    slot: datetime
    due_at: datetime
    attempt: int
    source: Source
    claimed_at: datetime
    lease_until: datetime
    started_at: datetime | None = None
    """When it was handed to a dispatcher; None while it waits for its moment."""
    version: int = 0
    """The endpoint's version when it was claimed: if it has changed, the endpoint was steered since."""
    place: int | str = 0
    """Where its store found the endpoint, so that it need not search again; 0 if it does not say."""
    delay: timedelta = timedelta(0)
    """How long its worker waits beyond its moment, so that endpoints do not start together."""
    held_back_by: str | None = None
    """The limit that made it late, such as `host:api.example.com`."""

    @property
    def key(self) -> EndpointKey:
        """The identity of the endpoint."""
        return self.endpoint.key

    @property
    def planned_at(self) -> datetime:
        """When it is to start; lateness counts from here."""
        return self.due_at + self.delay

    def why_late(self, late: timedelta) -> str | None:
        """Why it started so late, where a limit is the reason."""
        if self.held_back_by is None:
            return None
        limit = self.held_back_by.replace(":", " ", 1)
        whole = timedelta(seconds=round(late.total_seconds()))
        return f"held back for {span_in_words(whole)} by the limit for {limit}"

    @property
    def is_requested(self) -> bool:
        """Was it asked for beside the schedule?"""
        return self.source is RERUN or self.source is BACKFILL

    @property
    def idempotency_key(self) -> str:
        """Tenant, endpoint and slot: the same for every attempt at one slot, and for no other slot."""
        tenant_id, endpoint_id = (part.replace("%", "%25").replace(":", "%3A") for part in self.key)
        return f"{tenant_id}:{endpoint_id}:{iso(self.slot)}"


class Completion(NamedTuple):
    """A claim and how it ended."""

    claim: Claim
    outcome: Outcome
    finished_at: datetime

    def started_after(self, now: datetime) -> bool:
        """Was the clock set back while it ran?"""
        return self.claim.started_at is not None and self.claim.started_at > now


class Run(NamedTuple):
    """The row that says what became of a slot, or of one attempt at it, and why."""

    id: str
    tenant_id: str
    job_id: str
    endpoint_id: str
    slot: datetime
    due_at: datetime
    """When this attempt was due: the slot itself, or the moment of a retry."""
    attempt: int
    source: Source
    """What set the moment it ran for."""
    claimed_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    status: RunStatus | None = None
    """None while it is open."""
    duration_ms: int = 0
    late_ms: int = 0
    coalesced: int = 0
    """How many slots it stands for beside its own."""
    verdict: bool = False
    """Whether this run is the verdict on its slot; each slot gets exactly one."""
    error: str | None = None
    reason: str | None = None
    response: Json = None
    traceback: str | None = None
    """Where a function raised; with one run alone, and left out where many are read."""

    @property
    def kind(self) -> RunKind:
        """Whether the schedule or a request brought it about."""
        return kind_of(self.source)


def open_run(claim: Claim) -> Run:
    """The row of a run that has just been claimed."""
    endpoint = claim.endpoint
    return Run(
        id=claim.run_id,
        tenant_id=endpoint.tenant_id,
        job_id=endpoint.job_id,
        endpoint_id=endpoint.id,
        slot=claim.slot,
        due_at=claim.due_at,
        attempt=claim.attempt,
        source=claim.source,
        claimed_at=claim.claimed_at,
        started_at=claim.started_at,
    )


def closed_run(completion: Completion, *, verdict: bool, coalesced: int) -> Run:
    """The row of a run that has ended."""
    claim, outcome, finished_at = completion
    endpoint = claim.endpoint
    late = (claim.started_at or finished_at) - claim.planned_at
    return Run(
        claim.run_id,
        endpoint.tenant_id,
        endpoint.job_id,
        endpoint.id,
        claim.slot,
        claim.due_at,
        claim.attempt,
        claim.source,
        claim.claimed_at,
        claim.started_at,
        finished_at,
        outcome.status,
        outcome.duration_ms,
        late // MILLISECOND if late > ON_TIME else 0,
        coalesced,
        verdict,
        outcome.error,
        outcome.reason or (claim.held_back_by and claim.why_late(late)),
        outcome.response,
        outcome.traceback,
    )


class SkippedSlot(NamedTuple):
    """A slot that passed without a claim, and why; it becomes a run of its own."""

    slot: datetime
    source: Source
    reason: str
    noticed_at: datetime
    status: RunStatus = RunStatus.SKIPPED
    attempt: int = 1


def skipped_run(endpoint: Endpoint, passed: SkippedSlot, run_id: str) -> Run:
    """The row of a slot that passed without a claim."""
    return Run(
        id=run_id,
        tenant_id=endpoint.tenant_id,
        job_id=endpoint.job_id,
        endpoint_id=endpoint.id,
        slot=passed.slot,
        due_at=passed.slot,
        attempt=passed.attempt,
        source=passed.source,
        claimed_at=passed.noticed_at,
        finished_at=passed.noticed_at,
        status=passed.status,
        verdict=kind_of(passed.source) is RunKind.SCHEDULED,
        reason=passed.reason,
    )
