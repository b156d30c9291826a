"""The rules of the next run."""

from datetime import UTC, datetime
from functools import partial
from typing import Protocol, assert_never

from cadenza.domain.monitoring.heartbeat import missing_at
from cadenza.domain.scheduling.baseline import Cron, DayParts, Every, Once, interval_at
from cadenza.domain.scheduling.calendars.day_part_planning import INSTANT, propose
from cadenza.domain.scheduling.calendars.planning import plan_in_calendars
from cadenza.domain.scheduling.calendars.rules import NO_RULES
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.hint import HintMode, IntervalHint
from cadenza.domain.scheduling.plan import Candidate, Plan, Source
from cadenza.domain.scheduling.policy import Backoff
from cadenza.domain.scheduling.target import HeartbeatTarget
from cadenza.domain.validation import check_moment, milliseconds

MOST_DOUBLINGS = 5
NO_BACKOFF, BASELINE_INTERVAL = Backoff.NONE, Source.BASELINE_INTERVAL  # Python 3.11 is slow to find members.


class CronClock(Protocol):
    """All that the governor needs to know of cron."""

    def next(self, expression: str, after: datetime, timezone: str = "UTC") -> datetime:
        """The first fire strictly after `after`."""
        ...


def plan_next_run(now: datetime, endpoint: Endpoint, cron: CronClock) -> Plan:
    """Decide the next run.

    1. The baseline proposes; a fresh interval hint takes its place, or competes in mode `tighten`.
    2. A fresh one-shot competes; the earliest wins, and on a tie the baseline, then the interval.
    3. The guard bounds the winner, and nothing is planned before now.
    4. A pause outranks them all.
    5. Calendars, a start and an end keep what is left (`plan_in_calendars`).
    """
    if now.tzinfo is not UTC:
        now = check_moment("now", now)
    if endpoint.calendar_rules is not NO_RULES:
        return plan_in_calendars(now, endpoint, cron, plan_next_run)
    last = endpoint.anchor(now)
    regular, candidates = _regular(now, last, endpoint, cron)
    one_shot = _one_shot(now, endpoint)
    if one_shot is not None:
        candidates = (*candidates, one_shot)
    chosen = _earliest(regular, one_shot)
    if chosen is None:
        return Plan(None, Source.FINISHED, candidates)
    if endpoint.paused_until is not None and endpoint.paused_until > now:
        return Plan(endpoint.paused_until, Source.PAUSED, candidates)
    at, source = guarded(now, last, endpoint, chosen)
    return Plan(at, source, candidates)


def baseline_after(moment: datetime, endpoint: Endpoint, cron: CronClock) -> datetime | None:
    """When the baseline has the endpoint run after a run at this moment; None if it is finished."""
    baseline = _baseline(moment, moment, endpoint, cron)
    return None if baseline is None else baseline.at


def following_fire(fire: datetime, last: datetime, endpoint: Endpoint, cron: CronClock) -> datetime | None:
    """What the baseline would name after a fire of its cron line; None if that is nothing."""
    following = _proposed(fire, last, endpoint, cron)
    return None if following is None else following.at


def baseline_interval_ms(endpoint: Endpoint, at: datetime) -> int | None:
    """The baseline's interval at a moment, stretched by failures if wanted; None if it has none then."""
    interval = interval_at(endpoint.baseline, at)
    return None if interval is None else stretched(endpoint, interval)


def stretched(endpoint: Endpoint, interval_ms: int) -> int:
    """An interval of the baseline, stretched by failures where the owner wants that."""
    if endpoint.policy.backoff is NO_BACKOFF:
        return interval_ms
    return interval_ms << min(endpoint.failure_count, MOST_DOUBLINGS)


def _regular(
    now: datetime, last: datetime, endpoint: Endpoint, cron: CronClock
) -> tuple[Candidate | None, tuple[Candidate, ...]]:
    """What the cadence proposes, and all that was weighed for it."""
    baseline = _baseline(now, last, endpoint, cron)
    hint = endpoint.interval_hint
    if baseline is None or hint is None or hint.expires_at <= now:
        return baseline, () if baseline is None else (baseline,)
    interval = Candidate(last + milliseconds(hint.interval_ms), Source.AI_INTERVAL)
    if endpoint.hint_mode is HintMode.TIGHTEN:
        return _earliest(baseline, interval), (baseline, interval)
    if interval.at <= hint.expires_at:
        return interval, (baseline, interval)
    resumed = _resumed(baseline, last, endpoint, hint, cron)
    return resumed, (resumed, interval)


def _baseline(now: datetime, last: datetime, endpoint: Endpoint, cron: CronClock) -> Candidate | None:
    """What the baseline proposes; for a heartbeat, the moment at which it is missing."""
    proposed = _proposed(now, last, endpoint, cron)
    if type(endpoint.target) is not HeartbeatTarget or proposed is None:
        return proposed
    return missing_at(proposed, now, endpoint, cron)


def _proposed(now: datetime, last: datetime, endpoint: Endpoint, cron: CronClock) -> Candidate | None:
    baseline = endpoint.baseline
    match baseline:
        case Every():
            interval = stretched(endpoint, baseline.interval_ms)
            return Candidate(last + milliseconds(interval), BASELINE_INTERVAL)
        case Cron():
            fire = cron.next(baseline.expression, now, baseline.timezone)
            return Candidate(fire, Source.BASELINE_CRON)
        case Once():
            finished = endpoint.open_slot is None and last >= baseline.at and endpoint.has_history
            return None if finished else Candidate(baseline.at, Source.BASELINE_ONCE)
        case DayParts():
            return propose(
                baseline, last=last, after=now, cron=cron, interval_of=partial(stretched, endpoint)
            )
    assert_never(baseline)


def _resumed(
    proposed: Candidate, last: datetime, endpoint: Endpoint, hint: IntervalHint, cron: CronClock
) -> Candidate:
    """The baseline as it takes over when the hint expires before its own moment."""
    baseline, expires_at = endpoint.baseline, hint.expires_at
    match baseline:
        case Cron():
            fire = cron.next(baseline.expression, expires_at - INSTANT, baseline.timezone)
            return Candidate(fire, proposed.source)
        case DayParts():
            return _resumed_parts(baseline, last, endpoint, expires_at, cron) or proposed
        case _:
            return Candidate(max(proposed.at, expires_at), proposed.source)


def _resumed_parts(
    baseline: DayParts, last: datetime, endpoint: Endpoint, expires_at: datetime, cron: CronClock
) -> Candidate | None:
    """What the day parts propose from the moment on at which a hint expires."""
    return propose(
        baseline,
        last=last,
        after=expires_at - INSTANT,
        cron=cron,
        interval_of=partial(stretched, endpoint),
        not_before=expires_at,
    )


def _one_shot(now: datetime, endpoint: Endpoint) -> Candidate | None:
    hint = endpoint.one_shot_hint
    if hint is None or hint.expires_at <= now or hint.served(endpoint.last_run_at, now):
        return None
    return Candidate(hint.at, Source.AI_ONESHOT)


def _earliest(first: Candidate | None, second: Candidate | None) -> Candidate | None:
    """The earlier of two; on a tie, and where there is no second, the first."""
    if first is None or (second is not None and second.at < first.at):
        return second
    return first


def guarded(now: datetime, last: datetime, endpoint: Endpoint, chosen: Candidate) -> tuple[datetime, Source]:
    """The winner within the guard, and not before now."""
    at, source = chosen
    at = max(at, now)
    guard = endpoint.effective_guard
    if guard.min_interval_ms is not None:
        soonest = last + milliseconds(guard.min_interval_ms)
        if at < soonest:
            at, source = soonest, Source.CLAMPED_MIN
    if guard.max_interval_ms is not None:
        latest = last + milliseconds(guard.max_interval_ms)
        if at > latest:
            at, source = max(latest, now), Source.CLAMPED_MAX
    return at, source
