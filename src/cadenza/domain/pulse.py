"""How runs ended lately: by status and lateness, in spans of equal length."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from cadenza.domain.health import COUNTED, Ended
from cadenza.domain.run import RunStatus

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
    in_spans: dict[int, list[Ended]] = {}
    for one in ended:
        in_spans.setdefault((one.finished_at - first) // span, []).append(one)
    counted = [one for one in ended if one.status in COUNTED]
    successes = sum(one.status is RunStatus.SUCCESS for one in counted)
    late = sorted(one.late_ms for one in counted)
    return Pulse(
        since=since,
        span=span,
        beats=[_beat(first + span * n, in_spans.get(n, [])) for n in range((now - first) // span + 1)],
        runs=len(counted),
        success_rate=successes / len(counted) if counted else None,
        late_p50_ms=_percentile(late, 50),
        late_p99_ms=_percentile(late, 99),
    )


def _beat(at: datetime, inside: Sequence[Ended]) -> Beat:
    statuses: dict[RunStatus, int] = {}
    for one in inside:
        statuses[one.status] = statuses.get(one.status, 0) + 1
    late = sorted(one.late_ms for one in inside if one.status in COUNTED)
    return Beat(at, statuses, _percentile(late, 50), _percentile(late, 99))


def _percentile(ordered: Sequence[int], percent: int) -> int | None:
    """The smallest value that so many per cent of all do not exceed."""
    return ordered[-(-len(ordered) * percent // 100) - 1] if ordered else None
