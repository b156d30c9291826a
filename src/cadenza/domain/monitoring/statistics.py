"""Histogram of ended runs by status and lateness, and counts of daily verdicts."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from cadenza.domain.daily.user import DayCounts
from cadenza.domain.planning.health import COUNTED, EndedRun
from cadenza.domain.scheduling.run import RunStatus

SPANS_S = (1, 5, 10, 30, 60, 300)
MOST_BUCKETS = 60
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class RunBucket(NamedTuple):
    """The runs that ended within one span."""

    at: datetime
    statuses: dict[RunStatus, int]
    late_p50_ms: int | None
    late_p99_ms: int | None


class RunHistogram(NamedTuple):
    """The runs that ended since a moment, in buckets of equal length."""

    since: datetime
    span: timedelta
    buckets: list[RunBucket]
    runs: int
    success_rate: float | None
    late_p50_ms: int | None
    late_p99_ms: int | None


def run_histogram(ended: Sequence[EndedRun], *, since: datetime, now: datetime) -> RunHistogram:
    """The histogram of runs that ended since a moment.

    The span is the shortest that covers the time in at most sixty buckets.
    """
    width_s = (now - since).total_seconds()
    span = timedelta(seconds=next((s for s in SPANS_S if width_s <= s * MOST_BUCKETS), SPANS_S[-1]))
    first = EPOCH + (since - EPOCH) // span * span
    in_spans: defaultdict[int, list[EndedRun]] = defaultdict(list)
    for one in ended:
        in_spans[(one.finished_at - first) // span].append(one)
    statuses = Counter(one.status for one in ended)
    late = sorted(one.late_ms for one in ended if one.status in COUNTED)
    return RunHistogram(
        since=since,
        span=span,
        buckets=[_bucket(first + span * n, in_spans[n]) for n in range((now - first) // span + 1)],
        runs=len(late),
        success_rate=statuses[RunStatus.SUCCESS] / len(late) if late else None,
        late_p50_ms=percentile(late, 50),
        late_p99_ms=percentile(late, 99),
    )


def _bucket(at: datetime, inside: Sequence[EndedRun]) -> RunBucket:
    statuses = Counter(one.status for one in inside)
    late = sorted(one.late_ms for one in inside if one.status in COUNTED)
    return RunBucket(at, dict(statuses), percentile(late, 50), percentile(late, 99))


def percentile(ordered: Sequence[int], percent: int) -> int | None:
    """The smallest value that so many per cent of all do not exceed."""
    return ordered[-(-len(ordered) * percent // 100) - 1] if ordered else None


class DueMinuteCounts(NamedTuple):
    """The verdicts of the users due at one minute of a day, counted by kind."""

    due_bucket: int
    """The minute of the day."""
    counts: DayCounts


NO_VERDICTS = DayCounts()


class DayTotal(NamedTuple):
    """The verdicts of a day, counted by kind, those that lie in gaps among them."""

    day: date
    counts: DayCounts


class GapCounts(NamedTuple):
    """How many users have a gap from one day to another, both included."""

    from_date: date
    to_date: date
    users: int


def add_gaps(
    verdicts: Mapping[date, DayCounts], gaps: Iterable[GapCounts], *, since: date, until: date
) -> list[DayTotal]:
    """The totals of days with verdicts or in gaps, newest first."""
    counts = dict(verdicts)
    for from_date, to_date, users in gaps:
        first, last = max(from_date, since), min(to_date, until)
        for number in range((last - first).days + 1):
            day = first + timedelta(days=number)
            counts[day] = counts.get(day, NO_VERDICTS).with_gaps(users)
    return [DayTotal(day, counts[day]) for day in sorted(counts, reverse=True)]


class LocalCutoff(NamedTuple):
    """A due minute on the clocks of users, and the moment at which it is over for them."""

    due_bucket: int
    cutoff: datetime


class UndecidedUsers(NamedTuple):
    """Users without a verdict for a day yet, counted by due minute and cutoff."""

    users: Mapping[LocalCutoff, int]
    known_before: datetime | None = None
    """Users with this cutoff or a later one were not counted; None if all were."""


class MissCursor(NamedTuple):
    """A position in the list of a day's misses: the due minute and the user."""

    due_bucket: int
    user_id: str


BEFORE_FIRST_MISS = MissCursor(-1, "")
