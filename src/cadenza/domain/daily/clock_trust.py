"""Whether the clock on the wall can be trusted, judged by one that only ever runs forward."""

from datetime import datetime, timedelta
from typing import NamedTuple

STEP = timedelta(minutes=5)
AGREEMENT = timedelta(seconds=5)
AGREEMENTS = 3


class ClockTrust(NamedTuple):
    """What both clocks said at the last tick, and whether the wall clock is trusted since."""

    wall: datetime | None = None
    steady_ms: float = 0
    trusted: bool = True
    agreed: int = 0
    """At how many ticks in a row they have agreed since they last did not."""

    def observed(self, wall: datetime, steady_ms: float) -> "ClockTrust":
        """After one more tick.

        1. A step of more than five minutes ends the trust.
        2. Three ticks in a row that agree within five seconds bring it back.
        """
        apart = self._apart(wall, steady_ms)
        if apart > STEP:
            return ClockTrust(wall, steady_ms, trusted=False)
        agreed = self.agreed + 1 if apart <= AGREEMENT else 0
        return ClockTrust(wall, steady_ms, self.trusted or agreed >= AGREEMENTS, agreed)

    def vouches_for(self, wall: datetime, steady_ms: float) -> bool:
        """May something be decided between two ticks? Not when the next tick will find a step."""
        return self.trusted and self._apart(wall, steady_ms) <= STEP

    def _apart(self, wall: datetime, steady_ms: float) -> timedelta:
        if self.wall is None:
            return timedelta()
        return abs((wall - self.wall) - timedelta(milliseconds=steady_ms - self.steady_ms))
