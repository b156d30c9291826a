"""Service level objectives: how each is measured, judged, and when a breach begins and ends."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from math import ceil
from typing import NamedTuple

from cadenza.domain.monitoring.rolling import Bucket, RollingStatistics, minute_of, percentile

P95 = 95
LEAST_TICKS = 10
LEAST_RUNS = 60
GOOD_SHARE = 0.8
"""A measurement is good below this part of the threshold."""
GOOD_IN_A_ROW = 5


class Slo(StrEnum):
    """The service level objectives."""

    TICK_BUDGET = "tick_budget"
    SATURATION = "saturation"
    QUEUE_PRESSURE = "queue_pressure"
    JOB_LATENCY = "job_latency"
    CUTOFF_MISS_RATE = "cutoff_miss_rate"
    DEAD_MAN = "dead_man"
    """The scheduler keeps ticking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SloSettings:
    """Thresholds, the minutes they are measured over, and how many bad evaluations make a breach."""

    slo_window_minutes: int = 15
    breach_consecutive: int = 3
    tick_budget_ms: float = 300
    sat_ratio: float = 0.8
    depth_avg_max: float = 1_000
    job_p95_max_ms: float = 30_000
    cutoff_rate_max: float = 0.05
    dead_man_ms: int = 180_000
    tick_ms: int = 60_000
    """How often the daily runner ticks."""

    def window_of(self, slo: Slo) -> int:
        """Over how many minutes an objective is measured: for ticks, long enough to hold ten of them."""
        ticks = ceil(LEAST_TICKS * self.tick_ms / 60_000) if slo is Slo.TICK_BUDGET else 0
        return max(self.slo_window_minutes, ticks)


class Judgement(StrEnum):
    """How one evaluation went."""

    BAD = "bad"
    FAIR = "fair"
    """Within the threshold, but not well within."""
    GOOD = "good"
    UNJUDGED = "unjudged"
    """Too few samples to judge."""


class SloMeasurement(NamedTuple):
    """One evaluation of one objective."""

    slo: Slo
    judgement: Judgement
    value: float | None
    threshold: float
    samples: int
    due_bucket: int | None = None
    """With missed cutoffs: the minute of the day at which most of them were due."""
    rising: bool = False
    """With queue pressure: whether the queue grew from minute to minute."""


@dataclass(frozen=True, slots=True)
class SloState:
    """The state of an objective after some evaluations."""

    measured: SloMeasurement | None = None
    bad_in_a_row: int = 0
    good_in_a_row: int = 0
    breached_since: datetime | None = None


class BreachChange(StrEnum):
    """What an evaluation changed: a breach begins or is over."""

    BEGUN = "begun"
    OVER = "over"


def measure(rolling: RollingStatistics, settings: SloSettings, now: datetime) -> list[SloMeasurement]:
    """What each objective but the dead-man switch measures over the window."""
    window = rolling.window(now)
    buckets = [bucket for _, bucket in window]
    ticks, tick_count = percentile(rolling.ticks(now), P95)
    runs, run_count = percentile([bucket.runs for bucket in buckets], P95)
    return [
        _measurement(Slo.TICK_BUDGET, ticks, settings.tick_budget_ms, samples=tick_count, least=LEAST_TICKS),
        _saturation(buckets, settings),
        _pressure(window, settings, minute_of(now)),
        _measurement(Slo.JOB_LATENCY, runs, settings.job_p95_max_ms, samples=run_count, least=LEAST_RUNS),
        _misses(buckets, settings),
    ]


def measure_silence(last_tick: datetime, settings: SloSettings, now: datetime) -> SloMeasurement:
    """Measure how long ago the last tick was."""
    quiet_ms = max(0.0, (now - last_tick) / timedelta(milliseconds=1))
    judgement = Judgement.BAD if quiet_ms > settings.dead_man_ms else Judgement.GOOD
    return SloMeasurement(Slo.DEAD_MAN, judgement, quiet_ms, settings.dead_man_ms, 1)


def judge(
    state: SloState, measured: SloMeasurement, settings: SloSettings, now: datetime
) -> tuple[SloState, BreachChange | None]:
    """The state of an objective after one more evaluation, and what it changed.

    1. A measurement with too few samples changes nothing.
    2. A breach begins after `breach_consecutive` bad evaluations in a row.
    3. It is over after five good ones in a row; a fair one restarts the count.
    4. A breach of the dead man begins and ends at once: its threshold is a duration already.
    """
    if measured.judgement is Judgement.UNJUDGED:
        return replace(state, measured=measured), None
    bad = state.bad_in_a_row + 1 if measured.judgement is Judgement.BAD else 0
    good = state.good_in_a_row + 1 if measured.judgement is Judgement.GOOD else 0
    after = SloState(measured, bad, good, state.breached_since)
    at_once = measured.slo is Slo.DEAD_MAN
    if state.breached_since is None and bad >= (1 if at_once else settings.breach_consecutive):
        return replace(after, breached_since=now), BreachChange.BEGUN
    if state.breached_since is not None and good >= (1 if at_once else GOOD_IN_A_ROW):
        return replace(after, breached_since=None), BreachChange.OVER
    return after, None


def _measurement(slo: Slo, value: float, threshold: float, *, samples: int, least: int = 1) -> SloMeasurement:
    """Judge a value by its threshold; without any samples it is good."""
    if not samples:
        return SloMeasurement(slo, Judgement.GOOD, None, threshold, 0)
    if samples < least:
        return SloMeasurement(slo, Judgement.UNJUDGED, value, threshold, samples)
    judgement = Judgement.GOOD if value < GOOD_SHARE * threshold else Judgement.FAIR
    return SloMeasurement(slo, Judgement.BAD if value > threshold else judgement, value, threshold, samples)


def _saturation(buckets: Sequence[Bucket], settings: SloSettings) -> SloMeasurement:
    """The share of the time in which all concurrency was in use."""
    seen = sum(bucket.seen_s for bucket in buckets)
    full = sum(bucket.full_s for bucket in buckets)
    return _measurement(
        Slo.SATURATION, full / seen if seen else 0.0, settings.sat_ratio, samples=int(seen > 0)
    )


def _pressure(window: Sequence[tuple[int, Bucket]], settings: SloSettings, present: int) -> SloMeasurement:
    """The average depth of the queue, and whether it grew in every whole minute of the window."""
    measured = [(minute, bucket) for minute, bucket in window if bucket.depth_count]
    count = sum(bucket.depth_count for _, bucket in measured)
    average = sum(bucket.depth_sum for _, bucket in measured) / count if count else 0.0
    found = _measurement(Slo.QUEUE_PRESSURE, average, settings.depth_avg_max, samples=count)
    means = [bucket.depth_sum / bucket.depth_count for minute, bucket in measured if minute < present]
    whole = len(means) == settings.slo_window_minutes > 1
    rising = whole and all(one < other for one, other in pairwise(means))
    return found._replace(judgement=Judgement.BAD, rising=True) if rising else found


def _misses(buckets: Sequence[Bucket], settings: SloSettings) -> SloMeasurement:
    """The share of finalized days that reached their cutoff."""
    missed: Counter[int] = sum((bucket.misses for bucket in buckets), Counter())
    misses = missed.total()
    days = misses + sum(bucket.successes for bucket in buckets)
    rate = misses / days if days else 0.0
    found = _measurement(Slo.CUTOFF_MISS_RATE, rate, settings.cutoff_rate_max, samples=days)
    worst = min(missed, key=lambda due: (-missed[due], due)) if missed else None
    return found._replace(due_bucket=worst)
