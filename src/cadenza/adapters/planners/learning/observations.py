"""A run as an observation: whether anything changed, and metrics that may announce a change."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from cadenza.domain.json_values import Json, follow_path
from cadenza.domain.planning.learning.learner import Period
from cadenza.domain.planning.learning.proposal import LEAST_PERIODS, MOST_PERIODS, Bounds
from cadenza.domain.planning.learning.state import Observation
from cadenza.domain.planning.learning.stress import MOST_METRICS, log_scaled
from cadenza.domain.planning.planner_settings import Learning
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.hint import HintMode
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.domain.scheduling.target import HttpTarget

HOUR_S = 3_600.0
LATE_S = 60.0
"""A run that is later than this, and later than a period, was kept from running."""
GATES = frozenset({Source.PAUSED, Source.RESUME, Source.QUOTA})


def period_of(endpoint: Endpoint) -> Period | None:
    """Its baseline interval within the guard, and its budget; None for a baseline without an interval."""
    baseline, guard = endpoint.baseline, endpoint.guard
    if not isinstance(baseline, Every):
        return None
    least, most = guard.min_interval_ms or 1, guard.max_interval_ms or float("inf")
    seconds = min(max(baseline.interval_ms, least), most) / 1_000
    budget = endpoint.planning.runs_per_hour
    allowance = 1.0 if budget is None else budget * seconds / HOUR_S
    return Period(seconds, allowance, shadow=endpoint.planning.learning is not Learning.ON)


def bounds_of(endpoint: Endpoint, period: Period) -> Bounds:
    """The intervals that the guard allows, in periods; at most one where a hint may only tighten.

    A budget below the baseline's runs allows longer intervals, one above it shorter ones.
    """
    guard, share = endpoint.guard, 1 / period.allowance
    least = max(LEAST_PERIODS * min(share, 1.0), (guard.min_interval_ms or 1) / 1_000 / period.seconds)
    most = MOST_PERIODS * max(share, 1.0)
    if guard.max_interval_ms is not None:
        most = min(most, guard.max_interval_ms / 1_000 / period.seconds)
    if endpoint.hint_mode is HintMode.TIGHTEN:
        most = min(most, 1.0)
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
    """Whether a pause or a quota decided when it ran, or it was due long before."""
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
