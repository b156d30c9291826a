"""A replay as JSON, and its figures."""

from typing import Any, NamedTuple

from cadenza.domain.validation import iso
from cadenza.sim.replay.replay import DelayStatistics, ReplayReport, ReplayResult, delay_statistics


class ReplayStatistics(NamedTuple):
    """A replay result in numbers: runs, and the delays of changes, at least, evenly and at most."""

    policy: str
    runs: int
    per_cent: float
    """Of the recorded runs."""
    unnoticed: int
    least: DelayStatistics
    even: DelayStatistics
    most: DelayStatistics


def measures(replayed: ReplayReport) -> list[ReplayStatistics]:
    """All results, the recorded one first."""
    return [_measured(result, replayed.recorded.runs) for result in (replayed.recorded, *replayed.others)]


def replay_document(replayed: ReplayReport) -> dict[str, Any]:
    """The replay as JSON takes it."""
    return {
        "since": iso(replayed.since),
        "until": iso(replayed.until),
        "endpoints": list(replayed.endpoints),
        "changes": replayed.changes,
        "courses": [_document(one) for one in measures(replayed)],
    }


def _measured(result: ReplayResult, recorded: int) -> ReplayStatistics:
    return ReplayStatistics(
        policy=result.policy,
        runs=result.runs,
        per_cent=100 * result.runs / max(recorded, 1),
        unnoticed=result.unnoticed,
        least=delay_statistics([delay.least_s for delay in result.delays]),
        even=delay_statistics([delay.even_s for delay in result.delays]),
        most=delay_statistics([delay.most_s for delay in result.delays]),
    )


def _document(one: ReplayStatistics) -> dict[str, Any]:
    return {
        "policy": one.policy,
        "runs": one.runs,
        "unnoticed": one.unnoticed,
        "delay": {name: getattr(one, name)._asdict() for name in ("least", "even", "most")},
    }
