"""How long changes went unnoticed: bounds, because a record tells only between which looks they fell."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple


class UnnoticedChange(NamedTuple):
    """Something that changed after one recorded look, and by the next."""

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


def delay_of(change: UnnoticedChange, looks: Sequence[datetime]) -> Delay:
    """The bounds of one change's delay under these looks, in their order.

    1. A change is noticed by the first look at or after it; the last look is at or after `by`.
    2. At least: nothing, if a look falls where the change may; otherwise from `by` to the next look.
    3. At most: the longest wait between two looks, or from `after` to the first.
    4. Evenly: the mean wait over all moments from `after` to `by`.
    """
    first, past = bisect_right(looks, change.after), bisect_left(looks, change.by)
    assert past < len(looks), "somebody has to notice it"
    points = [change.after, *looks[first:past], looks[past]]
    waits = [(later - earlier).total_seconds() for earlier, later in pairwise(points)]
    rest_s = (looks[past] - change.by).total_seconds()
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
