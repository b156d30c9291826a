"""What changed between an endpoint's newest run and the one before."""

from collections.abc import Callable, Sequence

from cadenza.domain.json_values import Json, follow_path
from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.planning.health import COUNTED
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.domain.scheduling.target import HttpTarget

HEADERS = "headers"
COMPARED_PARTS = ("status", "body", "text", "sha256")
"""The parts of an HTTP response that are compared; headers and size change for no reason."""
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


def compared_parts(target: object, response: Json, watch: Sequence[str]) -> Json:
    """The values that the owner watches or, if there are none, the whole response.

    A watched path that does not exist differs from one whose value is null.
    """
    value = response
    if isinstance(target, HttpTarget) and isinstance(response, dict):
        value = response.get("body") if watch else {name: response.get(name) for name in COMPARED_PARTS}
    if not watch:
        return value
    found = {path: follow_path(path, value) for path in watch}
    return {path: [place.value] for path, place in found.items() if place is not None}
