"""How long changes went unnoticed: bounds, because a record shows only between which runs they fell."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple


class UnnoticedChange(NamedTuple):
    """A change after one recorded run, and by the next."""

    after: datetime
    by: datetime


class Delay(NamedTuple):
    """How long a change went unnoticed, in seconds: at least, if it fell anywhere alike likely, at most."""

    least_s: float
    even_s: float
    most_s: float


class DelayStatistics(NamedTuple):
    """A mean, and what 95 in 100 do not exceed; None if there is nothing to measure."""

    mean_s: float | None
    p95_s: float | None


def delay_of(change: UnnoticedChange, run_times: Sequence[datetime]) -> Delay:
    """The bounds of one change's delay with runs at these times, in their order.

    1. A change is noticed by the first run at or after it; the last run is at or after `by`.
    2. At least: nothing, if a run falls where the change may; otherwise from `by` to the next run.
    3. At most: the longest wait between two runs, or from `after` to the first.
    4. Evenly: the mean wait over all moments from `after` to `by`.
    """
    first, past = bisect_right(run_times, change.after), bisect_left(run_times, change.by)
    assert past < len(run_times), "a run has to notice it"
    points = [change.after, *run_times[first:past], run_times[past]]
    waits = [(later - earlier).total_seconds() for earlier, later in pairwise(points)]
    rest_s = (run_times[past] - change.by).total_seconds()
    span_s = (change.by - change.after).total_seconds()
    area = (sum(wait**2 for wait in waits) - rest_s**2) / 2
    least_s = 0.0 if past > first else rest_s
    return Delay(least_s, area / span_s if span_s else rest_s, max(waits))


def delay_statistics(values: Sequence[float]) -> DelayStatistics:
    """Mean and 95th percentile."""
    if not values:
        return DelayStatistics(None, None)
    ordered = sorted(values)
    return DelayStatistics(sum(ordered) / len(ordered), ordered[(len(ordered) * 95 - 1) // 100])
