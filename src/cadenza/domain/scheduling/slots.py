"""How many slots a cadence holds between two moments."""

from datetime import datetime, timedelta
from functools import partial
from itertools import islice

from cadenza.domain.scheduling.baseline import Cron, DayParts, Every
from cadenza.domain.scheduling.calendars.calendar import Calendar
from cadenza.domain.scheduling.calendars.day_part_planning import INSTANT, propose, stretches
from cadenza.domain.scheduling.calendars.rules import NO_RULES
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.governor import CronClock, baseline_interval_ms, stretched
from cadenza.domain.scheduling.hint import HintMode, IntervalHint
from cadenza.domain.scheduling.run import Completion, RunStatus
from cadenza.domain.validation import milliseconds

MOST_COUNTED = 1_000
"""Counting cron fires one by one has an end; beyond it the number says "at least"."""


def cadence_ms(endpoint: Endpoint, now: datetime) -> int | None:
    """The interval in force at a moment, within the guard; None if there is none."""
    interval = baseline_interval_ms(endpoint, now)
    hint = endpoint.interval_hint
    if hint is not None and hint.expires_at > now:
        competes = endpoint.hint_mode is HintMode.TIGHTEN and interval is not None
        interval = min(hint.interval_ms, interval or hint.interval_ms) if competes else hint.interval_ms
    return None if interval is None else _within_guard(endpoint, interval)


def _within_guard(endpoint: Endpoint, interval: int) -> int:
    low, high = endpoint.guard.min_interval_ms, endpoint.guard.max_interval_ms
    if low is not None and interval < low:
        interval = low
    return high if high is not None and interval > high else interval


def slots_between(endpoint: Endpoint, since: datetime, until: datetime, cron: CronClock) -> int:
    """The moments of the cadence after `since`, up to `until`.

    If it is open at the end, those at which its calendars were closed do not count: nothing was to run.
    """
    if until <= since:
        return 0
    open_times = endpoint.calendar_rules.open_times
    if open_times is not None and open_times.is_open(until):
        if isinstance(endpoint.baseline, DayParts) and _fresh_hint(endpoint, until) is None:
            return _slots_of_parts(endpoint, endpoint.baseline, (since, until), cron, open_times)
        return _passed_while_open(endpoint, open_times.spans_between(since, until), (since, until), cron)
    return _passed(endpoint, since, until, cron)[1]


def coalesced_slots(endpoint: Endpoint, completion: Completion, cron: CronClock) -> int:
    """The slots that this run stands for beside its own; a released claim stands for none.

    One that is skipped while its calendars are closed stands for all until they open.
    """
    claim, outcome, finished_at = completion
    if claim.started_at is None and outcome.status is RunStatus.CANCELLED:
        return 0
    if outcome.closed_until is not None:
        return endpoint.missed_slots + slots_until_open(endpoint, claim.due_at, outcome.closed_until, cron)
    late = slots_between(endpoint, claim.due_at, claim.started_at or finished_at, cron)
    return endpoint.missed_slots + late


def slots_until_open(endpoint: Endpoint, since: datetime, opening: datetime, cron: CronClock) -> int:
    """The moments of the cadence after `since` and before its calendars open."""
    return slots_between(endpoint, since, opening - INSTANT, cron)


def slots_missed(endpoint: Endpoint, started: datetime, now: datetime, cron: CronClock) -> int:
    """The slots that passed during a run, beside the one that the next run will stand for.

    Where an interval rules and has passed, that run is due at once and stands for
    one of them; a cron line waits for its next fire, which is none of them.
    """
    if now <= started or endpoint.paused(now):
        return 0
    intervals, slots = _passed(endpoint, started, now, cron)
    if endpoint.calendar_rules is not NO_RULES:
        slots = slots_between(endpoint, started, now, cron)
    return max(0, slots - 1) if intervals else slots


def _passed(endpoint: Endpoint, since: datetime, until: datetime, cron: CronClock) -> tuple[int, int]:
    """How often the interval in force has passed, and the slots in all."""
    if isinstance(endpoint.baseline, DayParts):
        return _passed_by_parts(endpoint, endpoint.baseline, since, until, cron)
    interval = cadence_ms(endpoint, until)
    intervals = (until - since) // milliseconds(interval) if interval is not None else 0
    if isinstance(endpoint.baseline, Cron) and (interval is None or endpoint.hint_mode is HintMode.TIGHTEN):
        return intervals, max(intervals, _fires_between(endpoint.baseline, since, until, cron))
    return intervals, intervals


def _passed_by_parts(
    endpoint: Endpoint, day_parts: DayParts, since: datetime, until: datetime, cron: CronClock
) -> tuple[int, int]:
    """The same of day parts: whether an interval has passed, and the slots of all parts one after the other.

    A fresh hint takes their place, or competes with them in mode `tighten`.
    """
    hint, hinted = _fresh_hint(endpoint, until), 0
    if hint is not None:
        hinted = (until - since) // milliseconds(_within_guard(endpoint, hint.interval_ms))
        if endpoint.hint_mode is HintMode.OVERRIDE:
            return hinted, hinted
    interval_of = partial(_interval_of, endpoint)
    due = propose(day_parts, last=since, after=until, cron=cron, interval_of=interval_of)
    has_passed = int(due is not None and due.at <= until)
    slots = _slots_of_parts(endpoint, day_parts, (since, until), cron)
    return max(hinted, has_passed), max(hinted, has_passed, slots)


def _fresh_hint(endpoint: Endpoint, at: datetime) -> IntervalHint | None:
    hint = endpoint.interval_hint
    return hint if hint is not None and hint.expires_at > at else None


def _interval_of(endpoint: Endpoint, interval_ms: int) -> int:
    return _within_guard(endpoint, stretched(endpoint, interval_ms))


def _slots_of_parts(
    endpoint: Endpoint,
    day_parts: DayParts,
    bounds: tuple[datetime, datetime],
    cron: CronClock,
    open_times: Calendar | None = None,
) -> int:
    """The slots of day parts, or those at which a calendar is open; of at most so many parts in a row."""
    since, until = bounds
    interval_of = partial(_interval_of, endpoint)
    following = stretches(day_parts, last=since, until=until, cron=cron, interval_of=interval_of)
    count = 0
    for one in islice(following, MOST_COUNTED):
        if open_times is None:
            count += one.count_until(until)
            continue
        for opens, closes in open_times.spans_between(one.first, min(one.closes, until + INSTANT)):
            count += one.count_until(min(until, closes - INSTANT)) - one.count_until(opens - INSTANT)
    return count


def _passed_while_open(
    endpoint: Endpoint,
    spans: list[tuple[datetime, datetime]],
    bounds: tuple[datetime, datetime],
    cron: CronClock,
) -> int:
    """The slots within spans; an interval keeps its steps from one span to the next."""
    since, until = bounds
    count, is_line = 0, cadence_ms(endpoint, until) is None
    for opens, closes in spans:
        begin, end = max(since, opens - INSTANT), min(until, closes - INSTANT)
        if is_line:
            count += _passed(endpoint, begin, end, cron)[1]
        else:
            count += _passed(endpoint, since, end, cron)[1] - _passed(endpoint, since, begin, cron)[1]
        if count >= MOST_COUNTED and not isinstance(endpoint.baseline, Every):
            break
    return count


def _fires_between(line: Cron, since: datetime, until: datetime, cron: CronClock) -> int:
    if until - since < timedelta(minutes=1) and since.minute == until.minute:
        return 0
    count, at = 0, cron.next(line.expression, since, line.timezone)
    while at <= until and count < MOST_COUNTED:
        count, at = count + 1, cron.next(line.expression, at, line.timezone)
    return count
