"""The daily runner's clock: wall time, steady time, and whether the wall time can be trusted."""

from datetime import datetime
from typing import NamedTuple

from cadenza.domain.daily.clock_trust import ClockTrust
from cadenza.ports.clock import Clock, Stopwatch


class ClockReading(NamedTuple):
    """Wall time and steady time at one moment."""

    now: datetime
    steady_ms: float


class DailyClock:
    """Every tick updates the trust in the wall clock; the executor and the finalizer check it in between."""

    def __init__(self, clock: Clock, stopwatch: Stopwatch) -> None:
        self._clock = clock
        self._stopwatch = stopwatch
        self._trust = ClockTrust()

    def read(self) -> ClockReading:
        """The present time on both clocks."""
        return ClockReading(self._clock.now(), self._stopwatch.elapsed_ms())

    def observe(self) -> ClockReading:
        """The same at a tick, where the trust in the wall clock is updated."""
        reading = self.read()
        self._trust = self._trust.observed(*reading)
        return reading

    @property
    def trusted(self) -> bool:
        """Whether runs may be started and verdicts be written now."""
        return self._trust.trusts(*self.read())
