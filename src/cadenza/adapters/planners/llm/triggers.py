"""When a sitting of a model is worth its tokens: there is news, and the last sitting is a while ago."""

from collections import OrderedDict
from datetime import datetime, timedelta
from typing import NamedTuple

from cadenza.adapters.planners.change_detection import fingerprint, was_executed
from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.ports.planning import Briefing

MOST_REMEMBERED = 50_000


class View(NamedTuple):
    """What there was to see at a moment."""

    own: str | None
    others: frozenset[tuple[str, str]]
    """Of the siblings that no model thinks about; the others have sittings of their own."""


class Sat(NamedTuple):
    """When a model last sat about an endpoint, and what it saw."""

    at: datetime
    view: View


class Occasions:
    """Knows what was seen at the last sitting, so that only news is worth another.

    It is kept in memory: after a restart an endpoint's last two runs are compared instead.
    """

    def __init__(self, pause: timedelta) -> None:
        self.pause = pause
        self._sat: OrderedDict[EndpointKey, Sat] = OrderedDict()

    def worth(self, briefing: Briefing) -> bool:
        """Is it worth a sitting?

        1. Only if its owner wants a model to think about it.
        2. A look that the model itself asked for is.
        3. Otherwise not within the pause after the last sitting.
        4. What differs from what was seen then is.
        """
        endpoint = briefing.endpoint
        if not endpoint.planning.llm:
            return False
        if briefing.trigger is Trigger.DUE:
            return True
        sat = self._sat.get(endpoint.key)
        if sat is None:
            return _worth_a_first(briefing)
        return briefing.now - sat.at >= self.pause and _view(briefing) != sat.view

    def note(self, briefing: Briefing) -> None:
        """Remember that a model sits now, and what it is shown."""
        key = briefing.endpoint.key
        self._sat[key] = Sat(briefing.now, _view(briefing))
        self._sat.move_to_end(key)
        if len(self._sat) > MOST_REMEMBERED:
            self._sat.popitem(last=False)


def _view(briefing: Briefing) -> View:
    looks = _looks(briefing)
    return View(
        own=fingerprint(briefing.endpoint, looks[0]) if looks else None,
        others=frozenset(
            (name, fingerprint(briefing.siblings[name], run)) for name, run in _unattended(briefing).items()
        ),
    )


def _worth_a_first(briefing: Briefing) -> bool:
    """A failure, here or where no model looks, or an answer that differs from the one before."""
    looks = _looks(briefing)
    if any(_failed(run) for run in (*looks[:1], *_unattended(briefing).values())):
        return True
    return len({fingerprint(briefing.endpoint, run) for run in looks[:2]}) > 1


def _looks(briefing: Briefing) -> list[Run]:
    return [run for run in briefing.recent if was_executed(run)]


def _unattended(briefing: Briefing) -> dict[str, Run]:
    """The latest looks of siblings that no model thinks about."""
    return {
        name: run
        for name, run in briefing.latest.items()
        if was_executed(run) and name in briefing.siblings and not briefing.siblings[name].planning.llm
    }


def _failed(run: Run) -> bool:
    return run.status is not RunStatus.SUCCESS
