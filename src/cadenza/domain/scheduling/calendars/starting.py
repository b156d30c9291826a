"""What becomes of a run whose moment has come while its calendars are closed, and of its slot."""

from datetime import datetime

from cadenza.domain.scheduling.calendars.gate import CLOSED, RUN_AT_END, first_open, is_closed, why_not_open
from cadenza.domain.scheduling.endpoint import Endpoint, OpenSlot, evolve
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.domain.scheduling.target import HeartbeatTarget
from cadenza.domain.validation import milliseconds


def outcome_while_closed(claim: Claim, now: datetime) -> Outcome | None:
    """How a claim ends that calendars keep from starting; None if it may start now.

    1. Heartbeats run nothing; what a missing one means is for their own rules to say.
    2. A slot that was planned as closed, and is, is skipped, however late it is looked at.
    3. While closed nothing starts. A retry, a requested run and what runs at the end are cancelled and
       wait for the opening; every other slot is skipped, and so is what no opening is ahead of.
    """
    endpoint, rules = claim.endpoint, claim.endpoint.calendar_rules
    if type(endpoint.target) is HeartbeatTarget:
        return None
    asked_at = claim.due_at if claim.source is CLOSED and is_closed(rules, claim.due_at) else now
    reason, until = why_not_open(rules, asked_at), first_open(rules, asked_at)
    if reason is None:
        return None
    waits = endpoint.open_slot is not None or (rules.when_closed is RUN_AT_END and claim.source is not CLOSED)
    is_cancelled = claim.is_requested or (waits and until is not None)
    status = RunStatus.CANCELLED if is_cancelled else RunStatus.SKIPPED
    return Outcome(status, reason=reason, closed_until=until)


def missing_while_closed(claim: Claim) -> Outcome | None:
    """How a slot ends without a heartbeat that was expected, or would be missing, while closed.

    A run whose sender told that it started was expected at no moment but that of its end.
    """
    target, rules = claim.endpoint.target, claim.endpoint.calendar_rules
    assert type(target) is HeartbeatTarget, "only heartbeats can be missing"
    has_started = claim.source is Source.HEARTBEAT
    expected = claim.due_at if has_started else claim.due_at - milliseconds(target.grace_ms)
    for at in (expected, claim.due_at):
        if (reason := why_not_open(rules, at)) is not None:
            opening = first_open(rules, at) or claim.due_at
            return Outcome(RunStatus.SKIPPED, reason=reason, closed_until=opening)
    return None


def waiting_for_opening(endpoint: Endpoint, claim: Claim, opening: datetime) -> Endpoint:
    """The endpoint whose slot stays open until its calendars are; the attempt was none."""
    kept = endpoint.open_slot or OpenSlot(claim.slot, claim.attempt - 1)
    return evolve(endpoint, open_slot=kept, next_run_at=opening, next_source=Source.CALENDAR)
