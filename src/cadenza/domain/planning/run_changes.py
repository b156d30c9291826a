"""What the newest run says that the one before did not."""

from collections.abc import Callable, Sequence

from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.planning.health import COUNTED
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.domain.scheduling.target import Json

HEADERS = "headers"
Shown = Callable[[Endpoint, Run], object]
"""What a run of an endpoint showed, to be compared."""


def trigger_of(recent: Sequence[Run]) -> Trigger:
    """Why a new run deserves thought: a failure where there was none, or just that it ran; newest first."""
    ended_well = [run.status is RunStatus.SUCCESS for run in _ran(recent)[:2]]
    return Trigger.FAILURE if ended_well in ([False], [False, True]) else Trigger.RUN


def concerns_siblings(endpoint: Endpoint, recent: Sequence[Run], shown: Shown) -> bool:
    """Did the newest run end otherwise than the one before, or show something else? Newest first."""
    match _ran(recent)[:2]:
        case [newest, before]:
            return newest.status is not before.status or shown(endpoint, newest) != shown(endpoint, before)
        case [_]:
            return True
        case _:
            return False


def _ran(recent: Sequence[Run]) -> list[Run]:
    return [run for run in recent if run.status in COUNTED]


def whole_response(_: Endpoint, run: Run) -> Json:
    """All that a run showed; the headers of an answer say when it was given, so they are no news."""
    response = run.response
    if not isinstance(response, dict):
        return response
    return {name: part for name, part in response.items() if name != HEADERS}
