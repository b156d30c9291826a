"""Two well-known ways to pace looks by whether they showed anything new, as planners."""

from abc import ABC, abstractmethod
from itertools import islice

from cadenza.adapters.planners.change_detection import fingerprint, was_executed
from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.ports.planning import EMPTY_RESULT, Briefing, CallTool, PlannerResult

UNPACED_MS = 60_000
"""What a beat is where the baseline is no interval."""


class Pacing(ABC):
    """Proposes an interval after every look, for long enough that the next look falls into it."""

    def __init__(self) -> None:
        self._interval_ms: dict[EndpointKey, float] = {}

    @property
    @abstractmethod
    def name(self) -> str:
        """What its sittings are recorded as."""

    @abstractmethod
    def paced(self, interval_ms: float, beat_ms: int, *, changed: bool) -> float:
        """The next interval after one, where the baseline's is a beat."""

    def wants(self, briefing: Briefing) -> bool:
        """After every run of its own."""
        ran = briefing.trigger in (Trigger.RUN, Trigger.FAILURE)
        return ran and any(was_executed(run) for run in briefing.recent)

    async def sit(self, briefing: Briefing, call: CallTool) -> PlannerResult:
        """Look sooner after a change, later after none."""
        endpoint = briefing.endpoint
        looks = [fingerprint(endpoint, run) for run in islice(filter(was_executed, briefing.recent), 2)]
        beat_ms = _beat_ms(endpoint)
        before = self._interval_ms.get(endpoint.key, float(beat_ms))
        paced = self.paced(before, beat_ms, changed=len(set(looks)) > 1)
        interval_ms = _within_guard(endpoint, paced)
        self._interval_ms[endpoint.key] = interval_ms
        arguments = {"intervalMs": round(interval_ms), "ttlMinutes": 2 * interval_ms / 60_000 + 1}
        await call(endpoint, "propose_interval", arguments)
        return EMPTY_RESULT


class Backoff(Pacing):
    """Doubles the interval after every look that showed nothing new; a change brings it back at once."""

    SHORTEST, LONGEST = 1 / 8, 8

    @property
    def name(self) -> str:
        """What its sittings are recorded as."""
        return "backoff"

    def paced(self, interval_ms: float, beat_ms: int, *, changed: bool) -> float:
        """Between an eighth of the baseline's interval and eight times it."""
        return beat_ms * self.SHORTEST if changed else min(interval_ms * 2, beat_ms * self.LONGEST)


class Aimd(Pacing):
    """Lengthens the interval by a little after every look without news, and halves it after a change."""

    SHORTEST, LONGEST, STEP = 1 / 10, 4, 1 / 20

    @property
    def name(self) -> str:
        """What its sittings are recorded as."""
        return "aimd"

    def paced(self, interval_ms: float, beat_ms: int, *, changed: bool) -> float:
        """Between a tenth of the baseline's interval and four times it."""
        wanted = interval_ms / 2 if changed else interval_ms + beat_ms * self.STEP
        return min(max(wanted, beat_ms * self.SHORTEST), beat_ms * self.LONGEST)


def _beat_ms(endpoint: Endpoint) -> int:
    baseline = endpoint.baseline
    return baseline.interval_ms if isinstance(baseline, Every) else UNPACED_MS


def _within_guard(endpoint: Endpoint, interval_ms: float) -> float:
    guard = endpoint.guard
    return min(max(interval_ms, guard.min_interval_ms or 1), guard.max_interval_ms or float("inf"))
