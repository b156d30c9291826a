"""A replay as JSON, and its figures."""

from typing import Any, NamedTuple

from cadenza.domain.validation import iso
from cadenza.sim.replay.delays import DelayStatistics, delay_statistics
from cadenza.sim.replay.replay import ReplayReport, ReplayResult


class Measures(NamedTuple):
    """A course in figures: looks, and the delays of changes, at least, evenly and at most."""

    policy: str
    runs: int
    per_cent: float
    """Of the recorded runs."""
    unnoticed: int
    least: DelayStatistics
    even: DelayStatistics
    most: DelayStatistics


def measures(replayed: ReplayReport) -> list[Measures]:
    """All courses, the recorded one first."""
    return [_measured(course, replayed.recorded.looks) for course in (replayed.recorded, *replayed.others)]


def replay_document(replayed: ReplayReport) -> dict[str, Any]:
    """The replay as JSON takes it."""
    return {
        "since": iso(replayed.since),
        "until": iso(replayed.until),
        "endpoints": list(replayed.endpoints),
        "changes": replayed.changes,
        "courses": [_course(one) for one in measures(replayed)],
    }


def _measured(course: ReplayResult, recorded: int) -> Measures:
    return Measures(
        policy=course.policy,
        runs=course.looks,
        per_cent=100 * course.looks / max(recorded, 1),
        unnoticed=course.unnoticed,
        least=delay_statistics([delay.least_s for delay in course.delays]),
        even=delay_statistics([delay.even_s for delay in course.delays]),
        most=delay_statistics([delay.most_s for delay in course.delays]),
    )


def _course(one: Measures) -> dict[str, Any]:
    return {
        "policy": one.policy,
        "runs": one.runs,
        "unnoticed": one.unnoticed,
        "delay": {name: getattr(one, name)._asdict() for name in ("least", "even", "most")},
    }
