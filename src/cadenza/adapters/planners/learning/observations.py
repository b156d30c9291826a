"""What a run tells the learning planner: whether anything changed, and figures that may announce it."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from cadenza.domain.json_path import follow
from cadenza.domain.planning.learning.learner import Beat
from cadenza.domain.planning.learning.proposal import LEAST_BEATS, MOST_BEATS, Bounds
from cadenza.domain.planning.learning.state import Look
from cadenza.domain.planning.learning.stress import MOST_FIGURES, damped
from cadenza.domain.planning.planner_settings import Learning
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.hint import HintMode
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.domain.scheduling.target import HttpTarget, Json

HOUR_S = 3_600.0
LATE_S = 60.0
"""Who is later than this, and than a beat, was kept from running: nobody plans so."""
GATES = frozenset({Source.PAUSED, Source.RESUME, Source.QUOTA})


def beat_of(endpoint: Endpoint) -> Beat | None:
    """How it would run by itself, and what it may spend; None if its owner named moments, not a pace."""
    baseline, guard = endpoint.baseline, endpoint.guard
    if not isinstance(baseline, Every):
        return None
    least, most = guard.min_interval_ms or 1, guard.max_interval_ms or float("inf")
    seconds = min(max(baseline.interval_ms, least), most) / 1_000
    budget = endpoint.planning.runs_per_hour
    allowance = 1.0 if budget is None else budget * seconds / HOUR_S
    return Beat(seconds, allowance, shadow=endpoint.planning.learning is not Learning.ON)


def bounds_of(endpoint: Endpoint, beat: Beat) -> Bounds:
    """How many beats the guard allows; where a hint may only tighten, no more than one.

    A budget that is smaller than the baseline's spend needs longer intervals, a larger one shorter.
    """
    guard, share = endpoint.guard, 1 / beat.allowance
    least = max(LEAST_BEATS * min(share, 1.0), (guard.min_interval_ms or 1) / 1_000 / beat.seconds)
    most = MOST_BEATS * max(share, 1.0)
    if guard.max_interval_ms is not None:
        most = min(most, guard.max_interval_ms / 1_000 / beat.seconds)
    if endpoint.hint_mode is HintMode.TIGHTEN:
        most = min(most, 1.0)
    return Bounds(min(least, most), most)


def look_of(endpoint: Endpoint, run: Run, *, changed: bool, beat: Beat) -> Look:
    """What one run has shown."""
    failing = run.status is not RunStatus.SUCCESS
    return Look(
        moment_s(run.started_at),
        changed,
        failing,
        {} if failing else _figures(endpoint, run),
        held=_held(run, beat),
    )


def _held(run: Run, beat: Beat) -> bool:
    """Was it a gate that set its moment, or was it due long before?"""
    late_s = moment_s(run.started_at) - moment_s(run.due_at)
    return run.source in GATES or late_s > max(beat.seconds, LATE_S)


def moment_s(moment: datetime | None) -> float:
    """A moment as seconds since the epoch."""
    assert moment is not None, "a run that did not start saw nothing"
    return moment.timestamp()


def _figures(endpoint: Endpoint, run: Run) -> Mapping[str, float]:
    """Its latency, the size of its answer, and numbers: those watched or, if none, those on top."""
    found = {"latency": damped(run.duration_ms)}
    for name, value in _numbers(endpoint, run.response):
        if len(found) < MOST_FIGURES and isinstance(value, int | float) and not isinstance(value, bool):
            found[name] = damped(value)
    return found


def _numbers(endpoint: Endpoint, response: Json) -> Iterator[tuple[str, Json]]:
    seen = response
    if isinstance(endpoint.target, HttpTarget) and isinstance(response, dict):
        yield "size", response.get("size")
        seen = response.get("body")
    for path in endpoint.planning.watch:
        place = follow(path, seen)
        yield path, None if place is None else place.value
    if not endpoint.planning.watch and isinstance(seen, dict):
        yield from sorted(seen.items())
