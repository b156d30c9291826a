"""When an analysis is worth a model's tokens: something changed, and the last analysis is a while ago."""

from collections import OrderedDict
from datetime import datetime, timedelta
from typing import NamedTuple

from cadenza.adapters.planners.change_detection import fingerprint, was_executed
from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.ports.planning import Briefing

MOST_REMEMBERED = 50_000


class ObservedState(NamedTuple):
    """The fingerprints of an endpoint and its siblings at one moment."""

    own: str | None
    others: frozenset[tuple[str, str]]
    """Of the siblings without the LLM planner; the others have analyses of their own."""


class LastAnalysis(NamedTuple):
    """When a model last analyzed an endpoint, and in which state."""

    at: datetime
    state: ObservedState


class LlmTriggers:
    """Compares with the state at the last analysis, so that only a change leads to another.

    The states are kept in memory: after a restart an endpoint's last two runs are compared instead.
    """

    def __init__(self, pause: timedelta) -> None:
        self.pause = pause
        self._last_analyses: OrderedDict[EndpointKey, LastAnalysis] = OrderedDict()

    def should_analyze(self, briefing: Briefing) -> bool:
        """Whether to analyze.

        1. Only if the owner enabled the LLM planner.
        2. Always, if the model itself asked for it.
        3. Otherwise not within the pause after the last analysis.
        4. If the state differs from the one at the last analysis.
        """
        endpoint = briefing.endpoint
        if not endpoint.planning.llm:
            return False
        if briefing.trigger is Trigger.DUE:
            return True
        last = self._last_analyses.get(endpoint.key)
        if last is None:
            return _should_analyze_first(briefing)
        return briefing.now - last.at >= self.pause and _observed_state(briefing) != last.state

    def record(self, briefing: Briefing) -> None:
        """Record that a model analyzes now, and the state it sees."""
        key = briefing.endpoint.key
        self._last_analyses[key] = LastAnalysis(briefing.now, _observed_state(briefing))
        self._last_analyses.move_to_end(key)
        if len(self._last_analyses) > MOST_REMEMBERED:
            self._last_analyses.popitem(last=False)


def _observed_state(briefing: Briefing) -> ObservedState:
    runs = _executed_runs(briefing)
    return ObservedState(
        own=fingerprint(briefing.endpoint, runs[0]) if runs else None,
        others=frozenset(
            (name, fingerprint(briefing.siblings[name], run))
            for name, run in _siblings_without_model(briefing).items()
        ),
    )


def _should_analyze_first(briefing: Briefing) -> bool:
    """A failure, here or of a sibling without a model, or a response that differs from the one before."""
    runs = _executed_runs(briefing)
    if any(_failed(run) for run in (*runs[:1], *_siblings_without_model(briefing).values())):
        return True
    return len({fingerprint(briefing.endpoint, run) for run in runs[:2]}) > 1


def _executed_runs(briefing: Briefing) -> list[Run]:
    return [run for run in briefing.recent if was_executed(run)]


def _siblings_without_model(briefing: Briefing) -> dict[str, Run]:
    """The latest runs of siblings without the LLM planner."""
    return {
        name: run
        for name, run in briefing.latest.items()
        if was_executed(run) and name in briefing.siblings and not briefing.siblings[name].planning.llm
    }


def _failed(run: Run) -> bool:
    return run.status is not RunStatus.SUCCESS
