"""What the turn that a schedule started asks of this schedule, what becomes of it, and who decided."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from cadenza.domain.agents.schedule import prompt_of
from cadenza.domain.planning.planner_limits import why_kept_off
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import CronClock
from cadenza.domain.scheduling.hint import HintKind, IntervalHint, OneShotHint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Completion, RunStatus
from cadenza.domain.scheduling.steer import HintRecord

NOT_ITS_OWN = "its user does not let its agent pace it (may_pace)"

STEERED = frozenset({Source.AI_INTERVAL, Source.AI_ONESHOT, Source.CLAMPED_MIN, Source.CLAMPED_MAX})
"""What hints bring about."""


class SelfPause(NamedTuple):
    """A pause until a moment."""

    until: datetime
    reason: str | None


class Finish(NamedTuple):
    """The schedule has done its duty."""

    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pacing:
    """What a turn asks of its own schedule; of each kind, the last call counts.

    It takes effect with the turn's answer, in the commit of the run. A turn that fails, or is
    tried again, asks for nothing.
    """

    origin: str
    """The agent, such as `agent:helper`."""
    interval: IntervalHint | None = None
    next_time: OneShotHint | None = None
    pause: SelfPause | None = None
    finish: Finish | None = None

    def __bool__(self) -> bool:
        return any((self.interval, self.next_time, self.pause, self.finish))


class PacedSchedule(NamedTuple):
    """A schedule as its turn paced it, to be planned anew, and a line of the hint history for each call."""

    endpoint: Endpoint
    records: tuple[HintRecord, ...]

    @property
    def is_finished(self) -> bool:
        """Whether it does not fire again."""
        return any(one.kind is HintKind.FINISH and one.not_applied is None for one in self.records)


def paced_by_turn(
    endpoint: Endpoint, completion: Completion, *, now: datetime, cron: CronClock
) -> PacedSchedule | None:
    """The schedule as the turn that it started paced it; None if the turn failed or asked for nothing."""
    turn = completion.outcome.turn
    if turn is None or not turn.pacing or completion.outcome.status is not RunStatus.SUCCESS:
        return None
    return pace(endpoint, turn.pacing, now=now, cron=cron)


def pace(endpoint: Endpoint, pacing: Pacing, *, now: datetime, cron: CronClock) -> PacedSchedule:
    """Apply what a turn asks of its schedule, as of its end.

    1. A schedule whose agent may not pace it stays as it is.
    2. Each call is kept off by what a person decided and is in force, as with every other hint.
    3. A hint is written, a pause closes the gate; what has passed meanwhile does nothing.
    4. The governor plans from them, within the guard.
    """
    records: list[HintRecord] = []
    for record in _records(pacing, now):
        refused = _why_refused(endpoint, record, now=now, cron=cron)
        records.append(record._replace(not_applied=refused))
        if refused is None:
            endpoint = _applied(endpoint, record, pacing, now)
    return PacedSchedule(endpoint, tuple(records))


def finished(endpoint: Endpoint) -> Endpoint:
    """A schedule that is done: it is kept, and does not fire again."""
    return evolve(
        endpoint,
        next_run_at=None,
        next_source=Source.FINISHED,
        interval_hint=None,
        one_shot_hint=None,
        missed_slots=0,
    )


def finish_of(endpoint: Endpoint, newest_first: Iterable[HintRecord]) -> HintRecord | None:
    """The call by which its agent ended a schedule; None if nobody did."""
    if endpoint.next_source is not Source.FINISHED:
        return None
    return next((one for one in newest_first if one.kind is HintKind.FINISH and not one.not_applied), None)


class SteeredBy(NamedTuple):
    """Who brought the next run about, and the reason that was given."""

    origin: str | None
    reason: str | None


def decision_of(endpoint: Endpoint, newest_first: Iterable[HintRecord], now: datetime) -> SteeredBy | None:
    """The hint, the pause or the end behind the next run; None if it is the baseline's own."""
    if (ended := finish_of(endpoint, newest_first)) is not None:
        return SteeredBy(ended.origin, ended.reason)
    if endpoint.paused(now):
        return SteeredBy(endpoint.pause_origin, endpoint.pause_reason)
    by_interval = endpoint.next_source is not Source.AI_ONESHOT
    hints = (endpoint.interval_hint, endpoint.one_shot_hint)
    hint = next((one for one in (hints if by_interval else hints[::-1]) if one and one.fresh(now)), None)
    if hint is None or endpoint.next_source not in STEERED:
        return None
    return SteeredBy(hint.origin, hint.reason)


def _records(pacing: Pacing, now: datetime) -> Iterator[HintRecord]:
    origin, interval, one_shot = pacing.origin, pacing.interval, pacing.next_time
    if interval is not None:
        yield HintRecord(
            HintKind.INTERVAL, now, origin, interval.reason, interval.expires_at, interval.interval_ms
        )
    if one_shot is not None:
        yield HintRecord(HintKind.ONE_SHOT, now, origin, one_shot.reason, one_shot.expires_at, at=one_shot.at)
    if pacing.pause is not None:
        yield HintRecord(HintKind.PAUSE, now, origin, pacing.pause.reason, pacing.pause.until)
    if pacing.finish is not None:
        yield HintRecord(HintKind.FINISH, now, origin, pacing.finish.reason)


def _why_refused(endpoint: Endpoint, record: HintRecord, *, now: datetime, cron: CronClock) -> str | None:
    if not prompt_of(endpoint).may_pace:
        return NOT_ITS_OWN
    return why_kept_off(endpoint, record, now=now, cron=cron)


def _applied(endpoint: Endpoint, record: HintRecord, pacing: Pacing, now: datetime) -> Endpoint:
    interval, one_shot, pause = pacing.interval, pacing.next_time, pacing.pause
    match record.kind:
        case HintKind.INTERVAL if interval is not None and interval.fresh(now):
            return evolve(endpoint, interval_hint=replace(interval, origin=pacing.origin))
        case HintKind.ONE_SHOT if one_shot is not None and one_shot.fresh(now):
            at = max(one_shot.at, now)
            return evolve(endpoint, one_shot_hint=replace(one_shot, at=at, origin=pacing.origin))
        case HintKind.PAUSE if pause is not None and pause.until > now:
            by = {"pause_reason": pause.reason, "pause_origin": pacing.origin}
            return evolve(endpoint, paused_until=pause.until, **by)
        case _:
            return endpoint
