"""The clocks of processes: they run too fast or too slow, and are set by whoever sets the machine's time."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from cadenza.testing.virtual_time import VirtualTimeLoop

START = datetime(2030, 1, 1, 11, 59, 30, tzinfo=UTC)


@dataclass
class MachineTime:
    """How far the time of a machine was set from the true time; all its processes see it."""

    offset: timedelta = timedelta()


@dataclass(frozen=True)
class Drift:
    """A clock that gains or loses with every second, and is slewed back where it is `most_s` off."""

    begin_s: float = 0.0
    rate: float = 0.0
    most_s: float = 1.0

    def at(self, second: float) -> float:
        """How many seconds it is off at a true second: to and fro between its bounds."""
        way = (self.begin_s + self.most_s + self.rate * second) % (4 * self.most_s)
        return min(way, 4 * self.most_s - way) - self.most_s


NO_DRIFT = Drift()


@dataclass
class ProcessClock:
    """The clock of one process."""

    loop: VirtualTimeLoop
    machine: MachineTime = field(default_factory=MachineTime)
    drift: Drift = NO_DRIFT

    def now(self) -> datetime:
        """The moment that the clock shows."""
        return START + timedelta(seconds=self._seconds()) + self.machine.offset

    async def sleep(self, span_ms: float) -> None:
        """Return when that span has truly passed."""
        await asyncio.sleep(span_ms / 1_000)

    def elapsed_ms(self) -> float:
        """Milliseconds of the process's monotonic time, which drifts too, and which nothing sets."""
        return self._seconds() * 1_000

    def _seconds(self) -> float:
        second = self.loop.time()
        return second + self.drift.at(second)
