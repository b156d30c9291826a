"""How runs ended lately: by status and lateness, in spans of equal length."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from cadenza.domain.daily.user import DayCounts
from cadenza.domain.planning.health import COUNTED, Ended
from cadenza.domain.scheduling.run import RunStatus

SPANS_S = (1, 5, 10, 30, 60, 300)
MOST_BEATS = 60
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Beat(NamedTuple):
    """What ended within one span."""

    at: datetime
    statuses: dict[RunStatus, int]
    late_p50_ms: int | None
    late_p99_ms: int | None


class Pulse(NamedTuple):
    """What ended lately."""

    since: datetime
    span: timedelta
    beats: list[Beat]
    runs: int
    success_rate: float | None
    late_p50_ms: int | None
    late_p99_ms: int | None


def pulse(ended: Sequence[Ended], *, since: datetime, now: datetime) -> Pulse:
    """The pulse of runs that ended since a moment.

    The span is the shortest that covers the time in no more than sixty beats.
    """
    width_s = (now - since).total_seconds()
    span = timedelta(seconds=next((s for s in SPANS_S if width_s <= s * MOST_BEATS), SPANS_S[-1]))
    first = EPOCH + (since - EPOCH) // span * span
    in_spans: defaultdict[int, list[Ended]] = defaultdict(list)
    for one in ended:
        in_spans[(one.finished_at - first) // span].append(one)
    statuses = Counter(one.status for one in ended)
    late = sorted(one.late_ms for one in ended if one.status in COUNTED)
    return Pulse(
        since=since,
        span=span,
        beats=[_beat(first + span * n, in_spans[n]) for n in range((now - first) // span + 1)],
        runs=len(late),
        success_rate=statuses[RunStatus.SUCCESS] / len(late) if late else None,
        late_p50_ms=_percentile(late, 50),
        late_p99_ms=_percentile(late, 99),
    )


def _beat(at: datetime, inside: Sequence[Ended]) -> Beat:
    statuses = Counter(one.status for one in inside)
    late = sorted(one.late_ms for one in inside if one.status in COUNTED)
    return Beat(at, dict(statuses), _percentile(late, 50), _percentile(late, 99))


def _percentile(ordered: Sequence[int], percent: int) -> int | None:
    """The smallest value that so many per cent of all do not exceed."""
    return ordered[-(-len(ordered) * percent // 100) - 1] if ordered else None


class Tally(NamedTuple):
    """How many verdicts of one due minute of a day are which."""

    due_bucket: int
    """The minute of the day at which they were due."""
    counts: DayCounts


class DayTotal(NamedTuple):
    """How many verdicts of a day are which."""

    day: date
    counts: DayCounts


class Waiting(NamedTuple):
    """How many users have no verdict yet, by their next cutoff."""

    users: Mapping[datetime, int]
    known_before: datetime | None = None
    """From this cutoff on nobody was counted any more; None if all were."""


class Missed(NamedTuple):
    """A place among the misses of a day: when one was due, and whose it is."""

    due_bucket: int
    user_id: str


FIRST_MISS = Missed(-1, "")
