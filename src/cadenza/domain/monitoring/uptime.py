"""Uptime and latency of an endpoint over a period, in buckets of equal length."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from cadenza.domain.monitoring.statistics import percentile
from cadenza.domain.planning.health import COUNTED
from cadenza.domain.scheduling.run import RunStatus

SPANS_M = (1, 5, 15, 30, 60, 180, 360, 720)
MOST_BUCKETS = 60
MOST_RUNS = 45_000
"""So many runs are counted at most: one a minute for a month."""
MOST_RUNS_AN_HOUR = 3_600
TIMED = COUNTED - {RunStatus.ABANDONED}
"""Runs whose duration is that of their target; that of an abandoned run is the lease of its worker."""


class EndedGroup(NamedTuple):
    """The runs that ended within one bucket with one status."""

    bucket: int
    status: RunStatus
    durations_ms: Sequence[int]


class UptimeBucket(NamedTuple):
    """The runs that ended within one bucket; `uptime` is None without any."""

    at: datetime
    runs: int
    successes: int
    uptime: float | None
    p50_ms: int | None
    p95_ms: int | None


class EndpointStatistics(NamedTuple):
    """Uptime and latency since a moment, in all and in buckets."""

    since: datetime
    span: timedelta
    runs: int
    successes: int
    uptime: float | None
    p50_ms: int | None
    p95_ms: int | None
    complete: bool
    """False if there were too many runs: then only the newest are counted, and `since` is later."""
    buckets: list[UptimeBucket]


class StatisticsPeriod(NamedTuple):
    """What is counted: from when on, in buckets of which length, and at most how many runs."""

    since: datetime
    span: timedelta
    limit: int


def period_of(hours: int, now: datetime) -> StatisticsPeriod:
    """The period of so many hours until now: the shortest span that covers it in at most sixty buckets."""
    length = timedelta(hours=hours)
    span = next(span for minutes in SPANS_M if length <= (span := timedelta(minutes=minutes)) * MOST_BUCKETS)
    return StatisticsPeriod(now - length, span, min(MOST_RUNS, hours * MOST_RUNS_AN_HOUR))


def endpoint_statistics(
    groups: Iterable[EndedGroup], period: StatisticsPeriod, now: datetime
) -> EndpointStatistics:
    """The statistics of the groups of a period.

    1. Uptime is the share of successes among runs that were dispatched: skipped and cancelled ones do not
       count.
    2. Latency is the duration of runs that reached their target.
    3. If as many runs were read as may be, older ones may be missing: the first bucket that has any is then
       the first of the period.
    """
    groups = list(groups)
    complete = sum(len(one.durations_ms) for one in groups) < period.limit
    first = 0 if complete else min(one.bucket for one in groups)
    last = max(0, (now - period.since - timedelta(microseconds=1)) // period.span)
    of_bucket: defaultdict[int, list[EndedGroup]] = defaultdict(list)
    for one in groups:
        of_bucket[min(one.bucket, last)].append(one)
    begin = period.since + period.span * first
    buckets = [_bucket(period.since + period.span * n, of_bucket[n]) for n in range(first, last + 1)]
    return EndpointStatistics(begin, period.span, *_bucket(begin, groups)[1:], complete, buckets)


def _bucket(at: datetime, groups: Sequence[EndedGroup]) -> UptimeBucket:
    runs = sum(len(one.durations_ms) for one in groups if one.status in COUNTED)
    successes = sum(len(one.durations_ms) for one in groups if one.status is RunStatus.SUCCESS)
    durations = sorted(took for one in groups if one.status in TIMED for took in one.durations_ms)
    return UptimeBucket(
        at=at,
        runs=runs,
        successes=successes,
        uptime=successes / runs if runs else None,
        p50_ms=percentile(durations, 50),
        p95_ms=percentile(durations, 95),
    )
