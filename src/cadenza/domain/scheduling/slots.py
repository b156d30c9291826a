"""How many slots a cadence holds between two moments."""

from datetime import datetime, timedelta

from cadenza.domain.scheduling.baseline import Cron
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.governor import CronClock, baseline_interval_ms
from cadenza.domain.scheduling.hint import HintMode
from cadenza.domain.validation import milliseconds

MOST_COUNTED = 1_000
"""Counting cron fires one by one has an end; beyond it the number says "at least"."""


def cadence_ms(endpoint: Endpoint, now: datetime) -> int | None:
    """The interval in force, within the guard; None if there is none."""
    interval = baseline_interval_ms(endpoint)
    hint = endpoint.interval_hint
    if hint is not None and hint.expires_at > now:
        competes = endpoint.hint_mode is HintMode.TIGHTEN and interval is not None
        interval = min(hint.interval_ms, interval or hint.interval_ms) if competes else hint.interval_ms
    if interval is None:
        return None
    low, high = endpoint.guard.min_interval_ms, endpoint.guard.max_interval_ms
    if low is not None and interval < low:
        interval = low
    return high if high is not None and interval > high else interval


def slots_between(endpoint: Endpoint, since: datetime, until: datetime, cron: CronClock) -> int:
    """The moments of the cadence after `since`, up to `until`."""
    return _passed(endpoint, since, until, cron)[1] if until > since else 0


def slots_missed(endpoint: Endpoint, started: datetime, now: datetime, cron: CronClock) -> int:
    """The slots that passed during a run, beside the one that the next run will stand for.

    Where an interval rules and has passed, that run is due at once and stands for
    one of them; a cron line waits for its next fire, which is none of them.
    """
    if now <= started or endpoint.paused(now):
        return 0
    intervals, slots = _passed(endpoint, started, now, cron)
    return slots - 1 if intervals else slots


def _passed(endpoint: Endpoint, since: datetime, until: datetime, cron: CronClock) -> tuple[int, int]:
    """How often the interval in force has passed, and the slots in all."""
    interval = cadence_ms(endpoint, until)
    intervals = (until - since) // milliseconds(interval) if interval is not None else 0
    if isinstance(endpoint.baseline, Cron) and (interval is None or endpoint.hint_mode is HintMode.TIGHTEN):
        return intervals, max(intervals, _fires_between(endpoint.baseline, since, until, cron))
    return intervals, intervals


def _fires_between(line: Cron, since: datetime, until: datetime, cron: CronClock) -> int:
    if until - since < timedelta(minutes=1) and since.minute == until.minute:
        return 0
    count, at = 0, cron.next(line.expression, since, line.timezone)
    while at <= until and count < MOST_COUNTED:
        count, at = count + 1, cron.next(line.expression, at, line.timezone)
    return count
