"""Heartbeats: signals of work that somebody else schedules, and when one is missing."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from cadenza.domain.errors import Conflict
from cadenza.domain.json_values import Json
from cadenza.domain.scheduling.baseline import Cron, DayParts
from cadenza.domain.scheduling.calendars.day_part_planning import propose
from cadenza.domain.scheduling.calendars.rules import NO_RULES
from cadenza.domain.scheduling.calendars.starting import missing_while_closed
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.hint import HintKind, OneShotHint
from cadenza.domain.scheduling.plan import Candidate, Source
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.domain.scheduling.target import HeartbeatTarget
from cadenza.domain.validation import iso, milliseconds
from cadenza.domain.wording import interval_in_words

if TYPE_CHECKING:  # The governor asks this module.
    from cadenza.domain.scheduling.governor import CronClock

LONGEST_BODY = 16_384
"""Characters of a signal's body that are stored."""
EARLY_PARTS = 10
"""A signal counts for the fire that follows within this part of the time between two fires."""
KEPT_FOR = timedelta(days=1)
"""How long a signal that arrived during a run asks for a run of its own."""
ORIGIN = "heartbeat"


class SignalKind(StrEnum):
    """What a sender says."""

    START = "start"
    SUCCESS = "success"
    FAIL = "fail"


class Signal(NamedTuple):
    """One request of a sender."""

    id: str
    kind: SignalKind
    at: datetime
    body: str | None = None
    expected_at: datetime | None = None
    """When it was expected; None if that is not known."""


class Received(NamedTuple):
    """A signal to store, and the endpoint after it."""

    signal: Signal
    endpoint: Endpoint


def is_heartbeat(endpoint: Endpoint) -> bool:
    """Whether somebody else does its work."""
    return type(endpoint.target) is HeartbeatTarget


def why_not_steered(endpoint: Endpoint, kind: HintKind) -> str | None:
    """Why a hint cannot act on an endpoint that waits for heartbeats; None if it can."""
    if is_heartbeat(endpoint) and kind in (HintKind.INTERVAL, HintKind.ONE_SHOT):
        return "its sender decides when a heartbeat is sent"
    return None


def refuse_heartbeat(endpoint: Endpoint) -> None:
    """Conflict if the endpoint only waits for heartbeats: there is nothing to run."""
    if is_heartbeat(endpoint):
        raise Conflict(f"{endpoint.id} expects heartbeats: its sender runs it, not Cadenza.")


def missing_at(expected: Candidate, now: datetime, endpoint: Endpoint, cron: "CronClock") -> Candidate:
    """When a heartbeat is missing: its grace after the moment at which the baseline expects it.

    A signal that comes shortly before a fire of a cron line counts for that fire: the next one is
    expected after it. Shortly is within the grace and a tenth of the time between the two fires.
    """
    target, at = endpoint.target, expected.at
    assert type(target) is HeartbeatTarget, "only heartbeats can be missing"
    grace = milliseconds(target.grace_ms)
    following = _following_fire(expected, now, endpoint, cron)
    if following is not None and at - now <= min(grace, (following.at - at) / EARLY_PARTS):
        return Candidate(following.at + grace, following.source)
    return Candidate(at + grace, expected.source)


def _following_fire(
    fire: Candidate, now: datetime, endpoint: Endpoint, cron: "CronClock"
) -> Candidate | None:
    """What the baseline expects after a fire that a signal counted for; None if it is no fire."""
    baseline = endpoint.baseline
    if isinstance(baseline, Cron):
        return Candidate(cron.next(baseline.expression, fire.at, baseline.timezone), fire.source)
    if isinstance(baseline, DayParts) and fire.source is Source.BASELINE_CRON:
        return propose(baseline, last=endpoint.anchor(now), after=fire.at, cron=cron)
    return None


def receive(endpoint: Endpoint, signal: Signal) -> Received | None:
    """What becomes of a signal; None if the endpoint is switched off or paused, and nothing is stored.

    1. One that ends a run makes it due at once, so that a worker records it; during a run, right after it.
    2. A start moves the moment at which it is missing, if its owner says how long a run may take.
    """
    now, target = signal.at, endpoint.target
    if not isinstance(target, HeartbeatTarget) or endpoint.archived:
        raise Conflict(f"{endpoint.id} no longer expects heartbeats.")
    if not endpoint.enabled or not endpoint.job_active or endpoint.paused(now):
        return None
    noted = signal._replace(expected_at=_expected_at(endpoint, target))
    if signal.kind is SignalKind.START:
        return Received(noted, _started(endpoint, target, now))
    if endpoint.lease is not None:
        hint = OneShotHint(now, now + KEPT_FOR, "a heartbeat arrived", ORIGIN)
        return Received(noted, evolve(endpoint, one_shot_hint=hint))
    if endpoint.next_run_at is not None and endpoint.next_run_at <= now:
        return Received(noted, endpoint)
    return Received(noted, evolve(endpoint, next_run_at=now, next_source=Source.HEARTBEAT))


def _expected_at(endpoint: Endpoint, target: HeartbeatTarget) -> datetime | None:
    from_baseline = endpoint.next_source in (Source.BASELINE_CRON, Source.BASELINE_INTERVAL)
    if endpoint.next_run_at is None or not from_baseline:
        return None
    return endpoint.next_run_at - milliseconds(target.grace_ms)


def _started(endpoint: Endpoint, target: HeartbeatTarget, now: datetime) -> Endpoint:
    if target.max_run_ms is None or endpoint.lease is not None:
        return endpoint
    missing = now + milliseconds(target.max_run_ms)
    return evolve(endpoint, next_run_at=missing, next_source=Source.HEARTBEAT)


def outcome_of(signals: Sequence[Signal], claim: Claim) -> Outcome:
    """What the signals of a run say, in the order of their arrival: the last that ended one decides.

    Without one the heartbeat is missing, unless it was expected while its calendars were closed.
    """
    ended = [signal for signal in signals if signal.kind is not SignalKind.START]
    starts = [signal for signal in signals if signal.kind is SignalKind.START]
    if not ended:
        kept = None if claim.endpoint.calendar_rules is NO_RULES else missing_while_closed(claim)
        return kept or _missing(starts[-1] if starts else None, claim)
    last = ended[-1]
    began = max((start.at for start in starts if start.at <= last.at), default=last.at)
    duration = (last.at - began) // milliseconds(1)
    if last.kind is SignalKind.SUCCESS:
        return Outcome(RunStatus.SUCCESS, duration, response=_response(last, len(signals)))
    error = (last.body or "").strip().partition("\n")[0] or "its sender reported a failure"
    return Outcome(RunStatus.FAILURE, duration, error, _response(last, len(signals)))


def _missing(started: Signal | None, claim: Claim) -> Outcome:
    target = claim.endpoint.target
    assert isinstance(target, HeartbeatTarget), "only heartbeats can be missing"
    if started is not None:
        took = claim.due_at - started.at
        error = f"started at {iso(started.at)}, and has not ended by {iso(claim.due_at)}"
        return Outcome(RunStatus.TIMEOUT, max(0, took // milliseconds(1)), error)
    grace = interval_in_words(target.grace_ms)
    expected = iso(claim.due_at - milliseconds(target.grace_ms))
    return Outcome(
        RunStatus.FAILURE, error=f"no heartbeat by {iso(claim.due_at)} (expected {expected}, grace {grace})"
    )


def _response(signal: Signal, count: int) -> Json:
    response: dict[str, Json] = {"signal": signal.kind.value, "received_at": iso(signal.at)}
    if signal.expected_at is not None:
        late = max(timedelta(0), signal.at - signal.expected_at)
        response |= {"expected_at": iso(signal.expected_at), "late_ms": late // milliseconds(1)}
    if count > 1:
        response["signals"] = count
    if signal.body:
        response["body"] = signal.body
    return response
