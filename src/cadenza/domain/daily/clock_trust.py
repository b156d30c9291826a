"""Whether the wall clock can be trusted, compared with a steady clock that is never set."""

from datetime import datetime, timedelta
from typing import NamedTuple

STEP = timedelta(minutes=5)
TOLERANCE = timedelta(seconds=5)
TICKS_TO_TRUST = 3


class ClockTrust(NamedTuple):
    """Both clocks at the last tick, and whether the wall clock is trusted since then."""

    wall: datetime | None = None
    steady_ms: float = 0
    trusted: bool = True
    agreeing_ticks: int = 0
    """At how many of the last ticks in a row both clocks agreed."""

    def observed(self, wall: datetime, steady_ms: float) -> "ClockTrust":
        """The trust after one more tick.

        1. A step of more than five minutes ends the trust.
        2. Three ticks in a row that agree within five seconds restore it.
        """
        difference = self._difference(wall, steady_ms)
        if difference > STEP:
            return ClockTrust(wall, steady_ms, trusted=False)
        agreeing = self.agreeing_ticks + 1 if difference <= TOLERANCE else 0
        return ClockTrust(wall, steady_ms, self.trusted or agreeing >= TICKS_TO_TRUST, agreeing)

    def trusts(self, wall: datetime, steady_ms: float) -> bool:
        """Whether this time can be trusted between two ticks; not if the clock was stepped since the last."""
        return self.trusted and self._difference(wall, steady_ms) <= STEP

    def _difference(self, wall: datetime, steady_ms: float) -> timedelta:
        if self.wall is None:
            return timedelta()
        return abs((wall - self.wall) - timedelta(milliseconds=steady_ms - self.steady_ms))
