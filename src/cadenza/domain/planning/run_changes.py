"""What changed between an endpoint's newest run and the one before."""

from collections.abc import Callable, Sequence

from cadenza.domain.json_values import Json
from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.planning.health import COUNTED
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Run, RunStatus

HEADERS = "headers"
Fingerprint = Callable[[Endpoint, Run], object]
"""Computes what is compared between two runs of an endpoint."""


def trigger_of(recent: Sequence[Run]) -> Trigger:
    """The trigger of a new run: a first failure, or just a run; `recent` has the newest first."""
    successes = [run.status is RunStatus.SUCCESS for run in _executed(recent)[:2]]
    return Trigger.FAILURE if successes in ([False], [False, True]) else Trigger.RUN


def concerns_siblings(endpoint: Endpoint, recent: Sequence[Run], fingerprint: Fingerprint) -> bool:
    """Whether the newest run has another status or fingerprint than the one before; newest first."""
    match _executed(recent)[:2]:
        case [newest, before]:
            return newest.status is not before.status or fingerprint(endpoint, newest) != fingerprint(
                endpoint, before
            )
        case [_]:
            return True
        case _:
            return False


def _executed(recent: Sequence[Run]) -> list[Run]:
    return [run for run in recent if run.status in COUNTED]


def whole_response(_: Endpoint, run: Run) -> Json:
    """The response without its headers, which change with every request."""
    response = run.response
    if not isinstance(response, dict):
        return response
    return {name: part for name, part in response.items() if name != HEADERS}
