"""A run as an observation: whether anything changed, and metrics that may announce a change."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from cadenza.domain.json_values import Json, follow_path
from cadenza.domain.planning.learning.learner import Period
from cadenza.domain.planning.learning.proposal import LEAST_PERIODS, MOST_PERIODS, Bounds
from cadenza.domain.planning.learning.state import Observation
from cadenza.domain.planning.learning.stress import MOST_METRICS, log_scaled
from cadenza.domain.planning.planner_settings import Learning
from cadenza.domain.scheduling.baseline import Every, cadences_of, interval_at
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.hint import HintMode
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.domain.scheduling.target import HttpTarget

HOUR_S = 3_600.0
LATE_S = 60.0
"""A run that is later than this, and later than a period, was kept from running."""
GATES = frozenset({Source.PAUSED, Source.RESUME, Source.QUOTA, Source.CALENDAR})


def period_of(endpoint: Endpoint, now: datetime) -> Period | None:
    """Its baseline interval within the guard, and its budget; None while the baseline has no interval.

    With day parts it is the shortest interval, so that it stays the same over the day, and the budget is what
    the part in force spends.
    """
    in_force = interval_at(endpoint.baseline, now)
    if in_force is None:
        return None
    every = [one.interval_ms for one in cadences_of(endpoint.baseline) if isinstance(one, Every)]
    seconds, budget = _seconds(endpoint, min(every)), endpoint.planning.runs_per_hour
    spent = seconds / _seconds(endpoint, in_force)
    allowance = spent if budget is None else budget * seconds / HOUR_S
    return Period(seconds, allowance, shadow=endpoint.planning.learning is not Learning.ON)


def _seconds(endpoint: Endpoint, interval_ms: int) -> float:
    """An interval within the guard."""
    guard = endpoint.guard
    least, most = guard.min_interval_ms or 1, guard.max_interval_ms or float("inf")
    return min(max(interval_ms, least), most) / 1_000


def bounds_of(endpoint: Endpoint, period: Period, now: datetime) -> Bounds:
    """The intervals that the guard allows, in periods; at most the one in force if a hint may only tighten.

    A budget below the baseline's runs allows longer intervals, one above it shorter ones.
    """
    guard, share = endpoint.guard, 1 / period.allowance
    least = max(LEAST_PERIODS * min(share, 1.0), (guard.min_interval_ms or 1) / 1_000 / period.seconds)
    most = MOST_PERIODS * max(share, 1.0)
    if guard.max_interval_ms is not None:
        most = min(most, guard.max_interval_ms / 1_000 / period.seconds)
    if endpoint.hint_mode is HintMode.TIGHTEN:
        most = min(most, _seconds(endpoint, interval_at(endpoint.baseline, now) or 1) / period.seconds)
    return Bounds(min(least, most), most)


def observation_of(endpoint: Endpoint, run: Run, *, changed: bool, period: Period) -> Observation:
    """What one run has shown."""
    failing = run.status is not RunStatus.SUCCESS
    return Observation(
        epoch_seconds(run.started_at),
        changed,
        failing,
        {} if failing else _metrics(endpoint, run),
        delayed=_was_delayed(run, period),
    )


def _was_delayed(run: Run, period: Period) -> bool:
    """Whether a pause, a quota or a calendar decided when it ran, or it was due long before."""
    late_s = epoch_seconds(run.started_at) - epoch_seconds(run.due_at)
    return run.source in GATES or late_s > max(period.seconds, LATE_S)


def epoch_seconds(moment: datetime | None) -> float:
    """A moment as seconds since the epoch."""
    assert moment is not None, "only runs that started are observed"
    return moment.timestamp()


def _metrics(endpoint: Endpoint, run: Run) -> Mapping[str, float]:
    """Its latency, the size of its response, and numbers: the watched ones, else the top-level ones."""
    found = {"latency": log_scaled(run.duration_ms)}
    for name, value in _numbers(endpoint, run.response):
        if len(found) < MOST_METRICS and isinstance(value, int | float) and not isinstance(value, bool):
            found[name] = log_scaled(value)
    return found


def _numbers(endpoint: Endpoint, response: Json) -> Iterator[tuple[str, Json]]:
    value = response
    if isinstance(endpoint.target, HttpTarget) and isinstance(response, dict):
        yield "size", response.get("size")
        value = response.get("body")
    for path in endpoint.planning.watch:
        place = follow_path(path, value)
        yield path, None if place is None else place.value
    if not endpoint.planning.watch and isinstance(value, dict):
        yield from sorted(value.items())
