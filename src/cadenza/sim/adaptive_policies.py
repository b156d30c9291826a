"""Two planners that choose the interval by whether runs showed anything new: backoff and AIMD."""

from abc import ABC, abstractmethod
from datetime import datetime
from itertools import islice

from cadenza.adapters.planners.change_detection import fingerprint, was_executed
from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.scheduling.baseline import interval_at
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.ports.planning import EMPTY_RESULT, Briefing, CallTool, PlannerResult

DEFAULT_INTERVAL_MS = 60_000
"""The interval from which it starts where the baseline has none."""


class AdaptivePlanner(ABC):
    """Proposes an interval after every look, for long enough that the next look falls into it."""

    def __init__(self) -> None:
        self._interval_ms: dict[EndpointKey, float] = {}

    @property
    @abstractmethod
    def name(self) -> str:
        """The name its analyses are recorded under."""

    @abstractmethod
    def next_interval_ms(self, interval_ms: float, baseline_ms: int, *, changed: bool) -> float:
        """The next interval, from the last one and that of the baseline."""

    def wants(self, briefing: Briefing) -> bool:
        """After every run of its own."""
        ran = briefing.trigger in (Trigger.RUN, Trigger.FAILURE)
        return ran and any(was_executed(run) for run in briefing.recent)

    async def sit(self, briefing: Briefing, call: CallTool) -> PlannerResult:
        """Look sooner after a change, later after none."""
        endpoint = briefing.endpoint
        results = [fingerprint(endpoint, run) for run in islice(filter(was_executed, briefing.recent), 2)]
        baseline_ms = _baseline_ms(endpoint, briefing.now)
        before = self._interval_ms.get(endpoint.key, float(baseline_ms))
        next_interval_ms = self.next_interval_ms(before, baseline_ms, changed=len(set(results)) > 1)
        interval_ms = _within_guard(endpoint, next_interval_ms)
        self._interval_ms[endpoint.key] = interval_ms
        arguments = {"intervalMs": round(interval_ms), "ttlMinutes": 2 * interval_ms / 60_000 + 1}
        await call(endpoint, "propose_interval", arguments)
        return EMPTY_RESULT


class BackoffPlanner(AdaptivePlanner):
    """Doubles the interval after every look that showed nothing new; a change brings it back at once."""

    SHORTEST, LONGEST = 1 / 8, 8

    @property
    def name(self) -> str:
        """The name its analyses are recorded under."""
        return "backoff"

    def next_interval_ms(self, interval_ms: float, baseline_ms: int, *, changed: bool) -> float:
        """Between an eighth of the baseline's interval and eight times it."""
        return baseline_ms * self.SHORTEST if changed else min(interval_ms * 2, baseline_ms * self.LONGEST)


class AimdPlanner(AdaptivePlanner):
    """Lengthens the interval by a little after every look without news, and halves it after a change."""

    SHORTEST, LONGEST, STEP = 1 / 10, 4, 1 / 20

    @property
    def name(self) -> str:
        """The name its analyses are recorded under."""
        return "aimd"

    def next_interval_ms(self, interval_ms: float, baseline_ms: int, *, changed: bool) -> float:
        """Between a tenth of the baseline's interval and four times it."""
        wanted = interval_ms / 2 if changed else interval_ms + baseline_ms * self.STEP
        return min(max(wanted, baseline_ms * self.SHORTEST), baseline_ms * self.LONGEST)


def _baseline_ms(endpoint: Endpoint, now: datetime) -> int:
    return interval_at(endpoint.baseline, now) or DEFAULT_INTERVAL_MS


def _within_guard(endpoint: Endpoint, interval_ms: float) -> float:
    guard = endpoint.guard
    return min(max(interval_ms, guard.min_interval_ms or 1), guard.max_interval_ms or float("inf"))
