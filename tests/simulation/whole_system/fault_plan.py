"""The faults of one seed: lost calls, outages, kills, freezes, restarts and clocks that are set."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from random import Random

from tests.simulation.whole_system.connections import Fate
from tests.simulation.whole_system.process_clocks import NO_DRIFT, Drift
from tests.simulation.whole_system.simulated_world import SimulatedWorld

from cadenza.testing.simulated_process import SimulatedProcess

LEASE_S = 12.0
NETWORK_S = 0.003
MOST_DRIFT_S = LEASE_S / 13
"""How far a clock drifts from the true time: two of them are apart by less than a sixth of the lease."""


class Fault(StrEnum):
    """What may go wrong."""

    KILL = "a process dies at an await"
    FREEZE = "a process stands still for longer than its lease"
    RESTART = "a process is stopped in order and started again"
    LATE = "the database answers late"
    REFUSED = "the database refuses calls"
    LOST_CALL = "a call never reaches the database"
    LOST_ANSWER = "the answer to a commit is lost"
    OUTAGE = "the database cannot be reached for a while"
    NOTIFICATION = "notifications are lost"
    CLOCK_STEP = "clocks are set"
    CLOCK_DRIFT = "clocks drift apart"
    SOCKETS = "sockets break"


ON_CALLS = (Fault.LATE, Fault.REFUSED, Fault.LOST_CALL, Fault.LOST_ANSWER)


@dataclass
class FaultPlan:
    """Decides, by chance of its own, what becomes of each call."""

    world: SimulatedWorld
    faults: frozenset[Fault]
    active: bool = True
    """Whether faults still happen."""

    def __post_init__(self) -> None:
        self.random: Random = self.world.chance("faults")
        self._outages: dict[str, float] = {}
        self._on_calls = [fault for fault in ON_CALLS if fault in self.faults]
        self.on_thaw: Callable[[SimulatedProcess], None] = lambda _: None
        self._rate = self.random.choice([0.01, 0.05, 0.15])

    def fate(self, process: SimulatedProcess) -> Fate:
        """The fate of the next call of a process."""
        random = self.random
        there, back = random.random() * NETWORK_S, random.random() * NETWORK_S
        if not self.active:
            return Fate(there, back)
        if self._outages.get(process.name, 0.0) > self.world.loop.time():
            return Fate(there, random.choice([back, 5.0]), is_executed=False, is_answered=False)
        if not self._on_calls or random.random() >= self._rate:
            return Fate(there, back)
        return self._wrong(random.choice(self._on_calls), Fate(there, back, is_answered=False))

    def _wrong(self, fault: Fault, soon: Fate) -> Fate:
        random = self.random
        match fault:
            case Fault.LATE:
                return Fate(random.random() * 5, random.random() * 2 * LEASE_S)
            case Fault.REFUSED:
                return soon._replace(is_executed=False)
            case Fault.LOST_CALL:
                return soon._replace(back_s=random.random() * LEASE_S, is_executed=False)
            case _:
                return soon._replace(back_s=random.random() * LEASE_S)

    def loses_notification(self, process: SimulatedProcess) -> bool:
        """Whether a notification does not reach a process."""
        if not self.active:
            return False
        if self._outages.get(process.name, 0.0) > self.world.loop.time():
            return True
        return Fault.NOTIFICATION in self.faults and self.random.random() < 0.3

    def begin_outage(self, names: list[str]) -> None:
        """Cut some processes off for a while, or all of them."""
        until = self.world.loop.time() + self.random.choice([1.0, LEASE_S / 2, LEASE_S * 1.5, LEASE_S * 2])
        self.world.note("fault", f"outage for {', '.join(names)} until {until:.3f}")
        for name in names:
            self._outages[name] = until

    def clock_drift(self) -> Drift:
        """How the clock of a new process drifts."""
        if Fault.CLOCK_DRIFT not in self.faults:
            return NO_DRIFT
        begin_s, rate = self.random.uniform(-MOST_DRIFT_S, MOST_DRIFT_S), self.random.uniform(-0.03, 0.03)
        return Drift(begin_s, rate, MOST_DRIFT_S)

    def set_clock(self, process: SimulatedProcess) -> None:
        """Set the clock of a process, as a correction of the machine's time does."""
        machine = self.world.clocks[process].machine
        seconds = self.random.choice([-40, -5, -1, 1, 5, 40])
        step = timedelta(seconds=seconds + self.random.random() / 10)
        self.world.times_set_back += seconds < 0
        self.world.note("fault", f"{process.name} has its clock set by {step.total_seconds():.0f} s")
        machine.offset += step

    def set_clocks_right(self) -> None:
        """Somebody sees to it that all clocks are right again."""
        for machine in (clock.machine for clock in self.world.clocks.values()):
            self.world.times_set_back += machine.offset > timedelta()
            machine.offset = timedelta()

    def freeze(self, process: SimulatedProcess) -> None:
        """Let a process stand still."""
        span = self.random.choice([LEASE_S / 4, LEASE_S, LEASE_S * 1.5, LEASE_S * 3])
        self.world.note("fault", f"{process.name} stands still for {span:.1f} s")
        process.freeze()
        self.world.later(span, self._thaw, process)

    def _thaw(self, process: SimulatedProcess) -> None:
        self.world.note("fault", f"{process.name} goes on")
        process.thaw()
        self.on_thaw(process)
