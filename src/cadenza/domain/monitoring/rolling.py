"""Rolling aggregates: what happened lately, in a bucket for each minute."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

EPOCH, MINUTE = datetime(1970, 1, 1, tzinfo=UTC), timedelta(minutes=1)
DIGITS, WHOLE = 3, 1_000
"""So many digits of a duration are kept: a bucket holds a bounded number of different ones."""


@dataclass(slots=True)
class Bucket:
    """One minute."""

    ticks: Counter[float] = field(default_factory=Counter)
    jobs: Counter[float] = field(default_factory=Counter)
    depth_sum: float = 0.0
    depth_count: int = 0
    full_s: float = 0.0
    """How long everything was in use."""
    seen_s: float = 0.0
    """How long it is known how much was in use."""
    successes: int = 0
    misses: Counter[int] = field(default_factory=Counter)
    """Cutoffs that were reached, by the minute of the day at which they were due."""


class _Gauge(NamedTuple):
    full: bool
    since: datetime


class Rolling:
    """What one scheduler did in the last minutes; what is older is forgotten."""

    def __init__(self, minutes: int) -> None:
        self._minutes = minutes
        self._buckets: dict[int, Bucket] = {}
        self._gauge: _Gauge | None = None

    def tick(self, at: datetime, duration_ms: float) -> None:
        """A tick took so long."""
        self._bucket(at).ticks[rounded(duration_ms)] += 1

    def job(self, at: datetime, duration_ms: float) -> None:
        """A job took so long."""
        self._bucket(at).jobs[rounded(duration_ms)] += 1

    def depth(self, at: datetime, depth: float) -> None:
        """So much waited."""
        bucket = self._bucket(at)
        bucket.depth_sum += depth
        bucket.depth_count += 1

    def in_flight(self, at: datetime, *, full: bool) -> None:
        """From now on everything is in use, or not."""
        self._settle(at)
        self._gauge = _Gauge(full, at)

    def finalized(self, at: datetime, *, missed: bool, due_bucket: int) -> None:
        """A day got its verdict."""
        if missed:
            self._bucket(at).misses[due_bucket] += 1
        else:
            self._bucket(at).successes += 1

    def window(self, now: datetime) -> list[tuple[int, Bucket]]:
        """The buckets of the last whole minutes and of the present one, with their minutes, oldest first."""
        self._settle(now)
        self._forget(minute_of(now))
        return sorted(self._buckets.items())

    def _settle(self, now: datetime) -> None:
        """Write down what is known of the time until now, each minute's share in its bucket."""
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
            self._forget(max(self._buckets))
        return bucket

    def _forget(self, present: int) -> None:
        """Keep the last minutes and the present one; what lies ahead, a clock set back has left."""
        wrong = [minute for minute in self._buckets if not present - self._minutes <= minute <= present]
        for minute in wrong:
            del self._buckets[minute]


def rounded(duration_ms: float) -> float:
    """A duration to three digits."""
    if type(duration_ms) is int and duration_ms < WHOLE:
        return duration_ms
    return float(f"{duration_ms:.{DIGITS}g}")


def percentile(counts: Iterable[Counter[float]], percent: int) -> tuple[float, int]:
    """The least value that so many percent of all values do not exceed, and how many there are."""
    together: Counter[float] = sum(counts, Counter())
    total = together.total()
    reached = 0
    for value in sorted(together):
        reached += together[value]
        if reached * 100 >= percent * total:
            return value, total
    return 0.0, 0


def minute_of(at: datetime) -> int:
    """The minute that a moment lies in."""
    return (at - EPOCH) // MINUTE


def _begin(minute: int) -> datetime:
    return EPOCH + minute * MINUTE
