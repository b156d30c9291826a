"""What ends without a claim: runs of processes that died, expired hints, functions that no process declares.

What was in flight when a process died is suspected of having ended it. Suspects are started again apart from
each other, until they end well, or one has died alone so often that it must be the culprit.
"""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from cadenza.domain.scheduling.due import FOREVER, due
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import CronClock
from cadenza.domain.scheduling.nudge import replan
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import (
    Claim,
    Completion,
    Outcome,
    ProcessDeath,
    Run,
    RunStatus,
    SkippedSlot,
)
from cadenza.domain.scheduling.steer import ChangedEndpoint, without_one_shot_of, without_stale_hints
from cadenza.domain.scheduling.target import CALLABLE, HeartbeatTarget, requirement


def sweep_at(endpoint: Endpoint) -> datetime | None:
    """The moment from which the sweeper has something to do here."""
    if endpoint.lease is not None:
        return endpoint.lease.until
    hint = endpoint.one_shot_hint
    if hint is None:
        return None
    will_run_first = endpoint.next_run_at is not None and endpoint.next_run_at <= hint.expires_at
    return None if will_run_first else hint.expires_at


def abandonment(endpoint: Endpoint, run: Run, death: ProcessDeath, now: datetime) -> Completion:
    """The completion of a run whose lease ran out."""
    assert endpoint.lease is not None, "only a lease can run out"
    outcome = Outcome(RunStatus.ABANDONED, error="its worker let the lease run out", death=death)
    return Completion(claim_of(endpoint, run), outcome, now)


def claim_of(endpoint: Endpoint, run: Run) -> Claim:
    """The claim to the open run of a leased endpoint."""
    assert endpoint.lease is not None, "an open run has a lease"
    return Claim(
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


DEATHS_ALONE = 3
"""How often a process must die with an endpoint alone; the last time with nothing else in flight."""
DEATHS_IN_COMPANY = 6
"""The same where nothing else in flight cannot be had, because other runs of the process take too long."""
NO_SUSPICION: dict[str, int] = {"abandoned_count": 0, "abandoned_alone_count": 0}


class Trial(StrEnum):
    """How a suspect is run until a run completes."""

    FEW = "few"
    """Beside few other suspects."""
    ALONE = "alone"
    """Beside no other suspect."""
    QUIET = "quiet"
    """Beside nothing at all, if the process comes to rest in time."""


TRIAL_WORDS = {
    Trial.FEW: "together with only a few other suspects",
    Trial.ALONE: "together with no other suspect",
    Trial.QUIET: "alone in its process",
}


TRIALS = frozenset(Trial)


def is_suspect(endpoint: Endpoint) -> bool:
    """Was it in flight when a process died, and has not ended since?"""
    return endpoint.abandoned_count > 0


def trial_of(endpoint: Endpoint) -> Trial:
    """How a suspect is tried next: the more deaths it was part of, the farther from others."""
    if endpoint.abandoned_alone_count >= DEATHS_ALONE - 1:
        return Trial.QUIET
    if endpoint.abandoned_alone_count or endpoint.abandoned_count > 1:
        return Trial.ALONE
    return Trial.FEW


LIMITED = "limited:"
"""Before the requirement of what is claimed in the order of priorities, within limits."""


def is_in_order(endpoint: Endpoint) -> bool:
    """Is it claimed in the order of priorities, within limits? The others take a shorter way."""
    return bool(endpoint.limited_by or endpoint.priority) and not isinstance(endpoint.target, HeartbeatTarget)


def requirement_of(endpoint: Endpoint) -> str:
    """What a worker must have to run an endpoint.

    It is what its target requires, behind `limited:` where limits or a priority count, and for a suspect
    behind its trial.
    """
    required = requirement(endpoint.target)
    if is_in_order(endpoint):
        required = f"{LIMITED}{required}"
    return f"{trial_of(endpoint)}:{required}" if endpoint.abandoned_count else required


def tried_requirements(required: Iterable[str], *trials: Trial) -> list[str]:
    """The requirements of suspects that are tried so, given those of their targets."""
    return [f"{trial}:{one}" for trial in trials for one in required]


def limited_requirements(required: Iterable[str]) -> list[str]:
    """The requirements of endpoints that are claimed within limits, given those of their targets."""
    return [f"{LIMITED}{one}" for one in required]


def all_requirements(required: Iterable[str]) -> list[str]:
    """Every requirement that endpoints with such targets may have: within limits or not, suspect or not."""
    untried = [*(plain := list(required)), *limited_requirements(plain)]
    return [*untried, *tried_requirements(untried, *Trial)]


def is_limited(required: str) -> bool:
    """Is it the requirement of endpoints that are claimed within limits?"""
    trial, _, rest = required.partition(":")
    return (rest if trial in TRIALS else required).startswith(LIMITED)


def function_of(required: str) -> str | None:
    """The name of the function in a requirement; None if it requires none."""
    _, is_function, name = required.partition(CALLABLE)
    return name if is_function else None


def died_alone(endpoint: Endpoint, death: ProcessDeath) -> bool:
    """Can nothing else have ended the process? Before its last trial, only suspects count as something."""
    if death.in_flight <= 1:
        return True
    return is_suspect(endpoint) and death.suspects <= 1


def suspicion_after(endpoint: Endpoint, completion: Completion) -> dict[str, int]:
    """What was in flight when its process died is suspected; what waited for its moment is not."""
    if completion.claim.started_at is None:
        return {}
    alone = endpoint.abandoned_alone_count + died_alone(endpoint, completion.outcome.death)
    return {"abandoned_count": endpoint.abandoned_count + 1, "abandoned_alone_count": alone}


def is_culprit(endpoint: Endpoint, death: ProcessDeath) -> bool:
    """Has it, this death included, died alone so often that it must be what ends its processes?"""
    proven = endpoint.abandoned_alone_count >= DEATHS_ALONE and death.in_flight <= 1
    return proven or endpoint.abandoned_alone_count >= DEATHS_IN_COMPANY


WAY_BACK = "resume it when that is fixed"
OWN_ORIGIN = "cadenza"
"""The origin of a pause after which a person should look: no lower rank ends it."""


def paused_forever(endpoint: Endpoint, reason: str) -> Endpoint:
    """The endpoint, paused until a person resumes it."""
    return evolve(
        endpoint,
        open_slot=None,
        paused_until=FOREVER,
        pause_reason=reason,
        pause_origin=OWN_ORIGIN,
        next_run_at=FOREVER,
        next_source=Source.PAUSED,
        **NO_SUSPICION,
    )


def paused_as_culprit(endpoint: Endpoint) -> Endpoint:
    """The endpoint that ends its processes; what is resumed is tried alone, until it has ended once."""
    reason = f"its process died {endpoint.abandoned_alone_count} times while it ran alone; {WAY_BACK}"
    return evolve(paused_forever(endpoint, reason), abandoned_count=endpoint.abandoned_count)


def given_up(endpoint: Endpoint) -> bool:
    """Did Cadenza pause it until a person resumes it?"""
    return endpoint.pause_origin == OWN_ORIGIN and endpoint.paused_until == FOREVER


def due_slot(endpoint: Endpoint, now: datetime, reason: str) -> tuple[SkippedSlot, ...]:
    """The slot of the schedule that has come due or waits for a retry, if any, as one that is skipped."""
    slot = endpoint.open_slot.slot if endpoint.open_slot else endpoint.next_run_at
    if slot is None or not (endpoint.open_slot or slot <= now):
        return ()
    return (SkippedSlot(slot, endpoint.next_source, reason, now),)


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


def bring_back(endpoint: Endpoint, *, now: datetime, cron: CronClock, jitter_ms: int = 0) -> ChangedEndpoint:
    """Plan a retired endpoint anew: an interval that passed meanwhile is due at once."""
    if not endpoint.retired:
        return ChangedEndpoint(endpoint)
    return ChangedEndpoint(replan(evolve(endpoint, next_source=Source.FIRST), now, cron, jitter_ms))
