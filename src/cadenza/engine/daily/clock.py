"""Both clocks together: what time it is, and whether that can be believed."""

from datetime import datetime
from typing import NamedTuple

from cadenza.domain.daily.clock_trust import ClockTrust
from cadenza.ports.clock import Clock, Stopwatch


class Reading(NamedTuple):
    """What both clocks say."""

    now: datetime
    steady_ms: float


class DailyClock:
    """Looked at by every tick; between ticks others ask it whether anything can be decided."""

    def __init__(self, clock: Clock, stopwatch: Stopwatch) -> None:
        self._clock = clock
        self._stopwatch = stopwatch
        self._trust = ClockTrust()

    def read(self) -> Reading:
        """Both clocks at once."""
        return Reading(self._clock.now(), self._stopwatch.elapsed_ms())

    def observe(self) -> Reading:
        """The same at a tick, which is when trust is lost and won back."""
        reading = self.read()
        self._trust = self._trust.observed(*reading)
        return reading

    @property
    def trusted(self) -> bool:
        """May attempts be started and verdicts be given now?"""
        return self._trust.vouches_for(*self.read())
