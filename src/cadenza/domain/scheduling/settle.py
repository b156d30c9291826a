"""Settles a run: the endpoint after an outcome, its closed run, and its next slot."""

from datetime import UTC, datetime
from typing import NamedTuple

from cadenza.domain.agents.conversation import Turn
from cadenza.domain.agents.pacing import finished, paced_by_turn
from cadenza.domain.agents.schedule_firing import FAILED, turn_of
from cadenza.domain.json_values import Json
from cadenza.domain.monitoring.alert import Alert
from cadenza.domain.scheduling.abandon import (
    NO_SUSPICION,
    due_slot,
    is_culprit,
    paused_as_culprit,
    paused_forever,
    suspicion_after,
)
from cadenza.domain.scheduling.baseline import Every, Once
from cadenza.domain.scheduling.calendars.rules import NO_RULES
from cadenza.domain.scheduling.calendars.starting import waiting_for_opening
from cadenza.domain.scheduling.endpoint import Endpoint, OpenSlot, evolve
from cadenza.domain.scheduling.governor import BASELINE_INTERVAL, CronClock, guarded, plan_next_run
from cadenza.domain.scheduling.nudge import earliest_run, not_before_quota
from cadenza.domain.scheduling.plan import Candidate, Source
from cadenza.domain.scheduling.requested_runs.ending import after_request, is_cancelled, with_cancel_words
from cadenza.domain.scheduling.run import Claim, Completion, Run, RunStatus, SkippedSlot, closed_run
from cadenza.domain.scheduling.slots import cadence_ms, coalesced_slots, slots_missed, slots_until_open
from cadenza.domain.scheduling.steer import HintRecord, without_one_shot_of, without_stale_hints
from cadenza.domain.scheduling.target import HeartbeatTarget
from cadenza.domain.validation import milliseconds

SUCCESS, ABANDONED, SKIPPED = RunStatus.SUCCESS, RunStatus.ABANDONED, RunStatus.SKIPPED


class SettledRun(NamedTuple):
    """An endpoint after an outcome, its closed run, and the slots that passed meanwhile."""

    endpoint: Endpoint
    run: Run
    skipped: tuple[SkippedSlot, ...] = ()
    turn: Turn | None = None
    """The turn it adds to a conversation, stored and delivered with the commit that closes the run."""
    raised: Alert | None = None
    """The alert it raises, stored in that commit too."""
    paced: tuple[HintRecord, ...] = ()
    """What its turn asked of the schedule, as lines of the hint history in that commit."""
    seen: Json = None
    """What its probe answered, kept in that commit for the next answer to be compared with."""


class _NextRun(NamedTuple):
    endpoint: Endpoint
    verdict: bool
    """Is the slot over?"""


def settle(endpoint: Endpoint, completion: Completion, *, now: datetime, cron: CronClock) -> SettledRun:
    """Close a run and decide what comes next.

    1. The failure count follows the outcome; a success resets it.
    2. A run that was dispatched moves the last run, never ahead of now; a skipped slot moves only where
       planning starts.
    3. Hints that expired or were served are cleared.
    4. A slot that is not over stays open: for a retry, for its quota, for another worker.
    5. Any other has its verdict, and the governor plans the next.
    6. The user of a schedule that failed, and is not retried, gets a message.
    7. A run that was asked to be cancelled is the verdict of its slot; a requested run never is one.
    8. A turn that has answered steers its own schedule, before the governor plans.
    """
    if _is_ordinary(endpoint, completion) and now.tzinfo is UTC and not completion.started_after(now):
        return _settle_ordinary(endpoint, completion, now)
    return settle_step_by_step(endpoint, completion, now=now, cron=cron)


def settle_step_by_step(
    endpoint: Endpoint, completion: Completion, *, now: datetime, cron: CronClock
) -> SettledRun:
    """Settle any endpoint; ordinary runs have a shorter way to the same result."""
    counted, asked = _with_counts(endpoint, completion, now), is_cancelled(endpoint, completion.claim)
    if asked:
        completion = with_cancel_words(endpoint, completion)
    if completion.claim.is_requested:
        return _settle_request(counted, completion, now, cancelled=asked)
    tidy, passed = without_stale_hints(counted, now)
    steered = None if asked else paced_by_turn(tidy, completion, now=now, cron=cron)
    if asked:
        after, verdict = _plan_after_cancelled(tidy, completion.claim, now, cron)
    else:
        after, verdict = _next_run(tidy if steered is None else steered.endpoint, completion, now, cron)
    run = closed_run(completion, verdict=verdict, coalesced=coalesced_slots(endpoint, completion, cron))
    turn = turn_of(completion, verdict=verdict)
    seen = completion.outcome.seen
    if steered is None:
        return SettledRun(after, run, passed, turn, seen=seen)
    settled = finished(after) if steered.is_finished else after
    return SettledRun(settled, run, passed, turn, paced=steered.records, seen=seen)


def _is_ordinary(endpoint: Endpoint, completion: Completion) -> bool:
    """Is it one more success of an unsteered interval? Nearly every run is."""
    claim, outcome, _ = completion
    return (
        outcome.status is SUCCESS
        and outcome.turn is None
        and claim.started_at is not None
        and type(endpoint.baseline) is Every
        and type(endpoint.target) is not HeartbeatTarget
        and endpoint.failure_count == 0
        and endpoint.abandoned_count == 0
        and endpoint.interval_hint is None
        and endpoint.one_shot_hint is None
        and endpoint.open_slot is None
        and endpoint.paused_until is None
        and endpoint.quota_opens_at is None
        and endpoint.skipped_at is None
        and endpoint.requested is None
        and endpoint.cancel_request is None
        and endpoint.calendar_rules is NO_RULES
        and not claim.is_requested
    )


def _settle_ordinary(endpoint: Endpoint, completion: Completion, now: datetime) -> SettledRun:
    """The result of all steps for an ordinary run, made as one value instead of one a step."""
    started, due_at = completion.claim.started_at, completion.claim.due_at
    assert started is not None, "what never started is not ordinary"
    assert type(endpoint.baseline) is Every, "what has no interval is not ordinary"
    interval = milliseconds(endpoint.baseline.interval_ms)
    moment, source = guarded(now, started, endpoint, Candidate(started + interval, BASELINE_INTERVAL))
    span = milliseconds(cadence_ms(endpoint, now) or endpoint.baseline.interval_ms)
    late = (started - due_at) // span if started > due_at else 0
    passed = (now - started) // span if now > started else 0
    after = evolve(
        endpoint,
        lease=None,
        last_run_at=started,
        next_run_at=moment,
        next_source=source,
        missed_slots=passed - 1 if passed else 0,
    )
    run = closed_run(completion, verdict=True, coalesced=endpoint.missed_slots + late)
    return SettledRun(after, run, seen=completion.outcome.seen)


def unplannable(endpoint: Endpoint, completion: Completion, reason: str) -> SettledRun:
    """Where no next run can be planned: the run is closed, and the endpoint paused until its owner acts."""
    freed = evolve(endpoint, lease=None, cancel_request=None)
    passed = due_slot(freed, completion.finished_at, reason) if completion.claim.is_requested else ()
    verdict = not completion.claim.is_requested
    run = closed_run(completion, verdict=verdict, coalesced=0)
    return SettledRun(paused_forever(freed, reason), run, passed, turn_of(completion, verdict=verdict))


def _with_counts(endpoint: Endpoint, completion: Completion, now: datetime) -> Endpoint:
    claim, status = completion.claim, completion.outcome.status
    changes: dict[str, object] = {"lease": None, "cancel_request": None}
    if status is SUCCESS or (status is SKIPPED and completion.outcome.ran):
        changes |= {"failure_count": 0, **NO_SUSPICION}
    elif status in FAILED:
        is_failure = status is not ABANDONED or not is_cancelled(endpoint, claim)
        changes["failure_count"] = endpoint.failure_count + is_failure
        changes |= suspicion_after(endpoint, completion) if status is ABANDONED else NO_SUSPICION
    if claim.started_at is not None and completion.outcome.ran:
        changes["last_run_at"] = _last_run_at(endpoint, completion, now)
    if endpoint.paused_until is not None and endpoint.paused_until <= now:
        changes |= {"paused_until": None, "pause_reason": None, "pause_origin": None}
    if endpoint.quota_opens_at is not None and endpoint.quota_opens_at <= now:
        changes["quota_opens_at"] = None
    return _without_answered_one_shot(evolve(endpoint, **changes), completion, now)


def _last_run_at(endpoint: Endpoint, completion: Completion, now: datetime) -> datetime | None:
    """The start of a run or, if the clock was set back since, now; what ran once stays over."""
    started = completion.claim.started_at
    if type(endpoint.baseline) is Once and started is not None:
        return max(started, endpoint.last_run_at or started)
    return now if completion.started_after(now) else started


def _without_answered_one_shot(endpoint: Endpoint, completion: Completion, now: datetime) -> Endpoint:
    """Without a one-shot that this run answers: that of its slot, or one that passed while it was late."""
    hint = endpoint.one_shot_hint
    if hint is None:
        return endpoint
    if not completion.outcome.ran:
        return without_one_shot_of(now, endpoint)
    passed = completion.started_after(now) or not hint.fresh(now)
    return without_one_shot_of(completion.claim.slot, endpoint) if passed else endpoint


def _next_run(endpoint: Endpoint, completion: Completion, now: datetime, cron: CronClock) -> _NextRun:
    claim, outcome, _ = completion
    match outcome.status:
        case RunStatus.SUCCESS:
            return _plan_next(endpoint, claim, now, cron)
        case RunStatus.FAILURE | RunStatus.TIMEOUT:
            return _plan_retry(endpoint, claim, now, _plan_next(endpoint, claim, now, cron))
        case RunStatus.SKIPPED:
            if outcome.opens_at is not None:
                return _wait_for_quota(endpoint, outcome.opens_at)
            served = endpoint if outcome.ran else evolve(endpoint, skipped_at=now)
            return _plan_next(served, claim, now, cron)
        case RunStatus.CANCELLED:
            return _cancelled(endpoint, completion, now)
        case RunStatus.ABANDONED:
            return _abandoned(endpoint, completion, now)


def _cancelled(endpoint: Endpoint, completion: Completion, now: datetime) -> _NextRun:
    """What ran is tried again; what never started is over if its slot came due and has been moved.

    What calendars kept from starting waits until they open.
    """
    claim, opening = completion.claim, completion.outcome.closed_until
    if opening is not None:
        return _NextRun(waiting_for_opening(endpoint, claim, opening), verdict=False)
    if claim.started_at is not None:
        return _keep_slot_open(endpoint, claim, now)
    moved = endpoint.next_run_at != claim.slot and endpoint.open_slot is None
    if not moved or claim.slot > now:
        return _NextRun(endpoint, verdict=False)
    return _NextRun(without_one_shot_of(claim.slot, endpoint), verdict=True)


def _abandoned(endpoint: Endpoint, completion: Completion, now: datetime) -> _NextRun:
    """The slot is tried again, unless its endpoint is what ends its processes.

    What was claimed ahead of its moment, and not moved, waits for it as before. What is resumed after
    such a pause is tried alone, until it has ended once.
    """
    claim, outcome, _ = completion
    if claim.started_at is None and endpoint.open_slot is None and endpoint.next_run_at == claim.slot > now:
        return _NextRun(endpoint, verdict=False)
    if claim.started_at is None or not is_culprit(endpoint, outcome.death):
        return _keep_slot_open(endpoint, claim, now)
    return _NextRun(paused_as_culprit(endpoint), verdict=True)


def _settle_request(
    endpoint: Endpoint, completion: Completion, now: datetime, *, cancelled: bool
) -> SettledRun:
    """Close a requested run, which is no verdict; the schedule goes on as it was."""
    after, passed = after_request(endpoint, completion, now, cancelled=cancelled)
    run = closed_run(completion, verdict=False, coalesced=0)
    return SettledRun(after, run, passed, completion.outcome.turn, seen=completion.outcome.seen)


def _plan_after_cancelled(endpoint: Endpoint, claim: Claim, now: datetime, cron: CronClock) -> _NextRun:
    """A slot that was asked to be cancelled is over, also one that has not come due yet."""
    if claim.started_at is not None:
        return _plan_next(endpoint, claim, now, cron)
    over_at = max(now, claim.slot)
    passed = without_one_shot_of(claim.slot, evolve(endpoint, skipped_at=over_at))
    return _plan_next(passed, claim, over_at, cron)


def _plan_next(endpoint: Endpoint, claim: Claim, now: datetime, cron: CronClock) -> _NextRun:
    """The slot is over; the governor says when next."""
    over = endpoint if endpoint.open_slot is None else evolve(endpoint, open_slot=None)
    moment, source, _ = plan_next_run(now, over, cron)
    if source is Source.CALENDAR and moment is not None:
        missed = max(0, slots_until_open(over, over.anchor(now), moment, cron) - 1)
    else:
        missed = slots_missed(over, claim.started_at, now, cron) if claim.started_at else 0
    moment = not_before_quota(over, moment)
    return _NextRun(evolve(over, next_run_at=moment, next_source=source, missed_slots=missed), verdict=True)


def _plan_retry(endpoint: Endpoint, claim: Claim, now: datetime, planned: _NextRun) -> _NextRun:
    """Try the slot again, if attempts are left and the regular next run does not come first."""
    if claim.attempt >= endpoint.policy.max_attempts:
        return planned
    again = max(now + milliseconds(endpoint.policy.retry_delay_ms), earliest_run(endpoint, now))
    regular = planned.endpoint.next_run_at
    if regular is not None and regular <= again:
        return planned
    return _keep_slot_open(endpoint, claim, now, again)


def _keep_slot_open(
    endpoint: Endpoint, claim: Claim, now: datetime, again: datetime | None = None
) -> _NextRun:
    """The slot stays due, not before the guard and the pause allow."""
    due_at = claim.due_at if claim.started_at is None else min(claim.due_at, now)
    moment = again or max(due_at, earliest_run(endpoint, due_at))
    waits_as_planned = claim.started_at is None and moment == claim.due_at
    source = claim.source if waits_as_planned else Source.RETRY
    if endpoint.paused_until is not None and endpoint.paused_until > max(now, moment):
        moment, source = endpoint.paused_until, Source.PAUSED
    kept = OpenSlot(claim.slot, claim.attempt)
    waiting = evolve(endpoint, open_slot=kept, next_run_at=moment, next_source=source, missed_slots=0)
    return _NextRun(waiting, verdict=False)


def _wait_for_quota(endpoint: Endpoint, opens_at: datetime) -> _NextRun:
    """Planned for when the quota opens; a slot that waits for a retry goes on waiting."""
    moment, source = max(opens_at, endpoint.paused_until or opens_at), Source.QUOTA
    held = evolve(endpoint, quota_opens_at=opens_at, next_run_at=moment, next_source=source, missed_slots=0)
    return _NextRun(held, verdict=endpoint.open_slot is None)
