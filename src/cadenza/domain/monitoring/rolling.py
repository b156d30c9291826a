"""Rolling statistics of one scheduler, in a bucket for each minute."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

EPOCH, MINUTE = datetime(1970, 1, 1, tzinfo=UTC), timedelta(minutes=1)
DIGITS, WHOLE = 3, 1_000
"""Durations are rounded to three digits, so that a bucket holds a bounded number of different ones."""


@dataclass(slots=True)
class Bucket:
    """The statistics of one minute."""

    ticks: Counter[float] = field(default_factory=Counter)
    runs: Counter[float] = field(default_factory=Counter)
    depth_sum: float = 0.0
    depth_count: int = 0
    full_s: float = 0.0
    """How long all concurrency was in use."""
    seen_s: float = 0.0
    """For how long usage was measured."""
    successes: int = 0
    misses: Counter[int] = field(default_factory=Counter)
    """Missed days, by the minute of the day at which they were due."""


class _Gauge(NamedTuple):
    full: bool
    since: datetime


class RollingStatistics:
    """What one scheduler did in the last minutes; older buckets are deleted. Ticks may be kept for longer."""

    def __init__(self, minutes: int, *, tick_minutes: int = 0) -> None:
        self._minutes = minutes
        self._kept = max(minutes, tick_minutes)
        self._buckets: dict[int, Bucket] = {}
        self._gauge: _Gauge | None = None

    def tick(self, at: datetime, duration_ms: float) -> None:
        """Add the duration of a tick."""
        self._bucket(at).ticks[rounded(duration_ms)] += 1

    def run(self, at: datetime, duration_ms: float) -> None:
        """Add the duration of a run."""
        self._bucket(at).runs[rounded(duration_ms)] += 1

    def depth(self, at: datetime, depth: float) -> None:
        """Add a measurement of the queue's depth."""
        bucket = self._bucket(at)
        bucket.depth_sum += depth
        bucket.depth_count += 1

    def in_flight(self, at: datetime, *, full: bool) -> None:
        """Note whether all concurrency is in use from now on."""
        self._add_usage(at)
        self._gauge = _Gauge(full, at)

    def finalized(self, at: datetime, *, missed: bool, due_bucket: int) -> None:
        """Count the verdict of a day."""
        if missed:
            self._bucket(at).misses[due_bucket] += 1
        else:
            self._bucket(at).successes += 1

    def window(self, now: datetime) -> list[tuple[int, Bucket]]:
        """The buckets of the last whole minutes and of the present one, with their minutes, oldest first."""
        self._add_usage(now)
        present = minute_of(now)
        self._delete_old(present)
        return sorted(item for item in self._buckets.items() if item[0] >= present - self._minutes)

    def ticks(self, now: datetime) -> list[Counter[float]]:
        """The durations of ticks, by minute, for as long as they are kept."""
        self._delete_old(minute_of(now))
        return [bucket.ticks for bucket in self._buckets.values()]

    def _add_usage(self, now: datetime) -> None:
        """Add the usage until now, each minute's share to its bucket."""
        if self._gauge is None or now <= self._gauge.since:
            return
        full, since = self._gauge
        since = max(since, now - (self._minutes + 1) * MINUTE)
        while since < now:
            until = min(now, _begin(minute_of(since) + 1))
            bucket, seconds = self._bucket(since), (until - since).total_seconds()
            bucket.seen_s += seconds
            bucket.full_s += seconds if full else 0.0
            since = until
        self._gauge = _Gauge(full, now)

    def _bucket(self, at: datetime) -> Bucket:
        minute = minute_of(at)
        bucket = self._buckets.get(minute)
        if bucket is None:
            bucket = self._buckets[minute] = Bucket()
            self._delete_old(max(self._buckets))
        return bucket

    def _delete_old(self, present: int) -> None:
        """Keep the last minutes and the present one; later ones are left by a clock that was set back."""
        old = [minute for minute in self._buckets if not present - self._kept <= minute <= present]
        for minute in old:
            del self._buckets[minute]


def rounded(duration_ms: float) -> float:
    """A duration to three digits."""
    if type(duration_ms) is int and duration_ms < WHOLE:
        return duration_ms
    return float(f"{duration_ms:.{DIGITS}g}")


def percentile(counts: Iterable[Counter[float]], percent: int) -> tuple[float, int]:
    """A percentile of all values, and how many values there are."""
    together: Counter[float] = sum(counts, Counter())
    total = together.total()
    quota_level = 0
    for value in sorted(together):
        quota_level += together[value]
        if quota_level * 100 >= percent * total:
            return value, total
    return 0.0, 0


def minute_of(at: datetime) -> int:
    """The number of minutes since the epoch."""
    return (at - EPOCH) // MINUTE


def _begin(minute: int) -> datetime:
    return EPOCH + minute * MINUTE
