"""What endpoints call: targets that answer soon, late, wrongly or never, and count what reaches them."""

import asyncio
from collections import Counter
from random import Random
from typing import NamedTuple

from tests.simulation.whole_system.calendar_checks import start_violation
from tests.simulation.whole_system.lease_checks import LeaseChecks
from tests.simulation.whole_system.simulated_world import SimulatedWorld

from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.testing.simulated_process import SimulatedProcess

SOON_S = 1.0


class Arrival(NamedTuple):
    """A run that reached its target."""

    process: SimulatedProcess
    run_id: str
    freezes: int
    """How often its process had been frozen by then."""


class SimulatedTargets:
    """Everything that runs call, seen from outside."""

    def __init__(self, world: SimulatedWorld, leases: LeaseChecks) -> None:
        self._world = world
        self._leases = leases
        self._in_flight: dict[EndpointKey, list[Arrival]] = {}
        self.random = world.chance("targets")
        self.dispatched: Counter[str] = Counter()
        self.freezes: Counter[SimulatedProcess] = Counter()
        self.is_calm = False
        """Whether every target answers well from now on."""

    def arrive(self, process: SimulatedProcess, claim: Claim) -> Arrival:
        """A request reaches its target."""
        world, key = self._world, claim.key
        world.note(process.name, f"runs {key.id} slot {claim.slot:%H:%M:%S.%f} attempt {claim.attempt}")
        self.dispatched[claim.run_id] += 1
        if not self._leases.holds(claim):
            world.violation(f"{process.name} runs {key.id} without its lease")
        if claim.started_at is None or claim.started_at < claim.due_at:
            world.violation(f"{process.name} runs {key.id} before its moment")
        for other in self._in_flight.get(key, ()):
            if self.freezes[other.process] == other.freezes:
                world.violation(f"{process.name} runs {key.id} while {other.process.name} runs it")
        if closed := start_violation(claim, world.clocks[process].now()):
            world.violation(f"{process.name} runs {key.id} {closed}")
        arrival = Arrival(process, claim.run_id, self.freezes[process])
        self._in_flight.setdefault(key, []).append(arrival)
        return arrival

    def leave(self, key: EndpointKey, arrival: Arrival) -> None:
        """It has been answered, or its caller has hung up."""
        self._in_flight[key].remove(arrival)

    def thawed(self, process: SimulatedProcess) -> None:
        """A process goes on after it stood still: it must soon have stopped what it lost meanwhile."""
        mine = [(key, one) for key, found in self._in_flight.items() for one in found]
        for key, arrival in mine:
            if arrival.process is process:
                self._world.later(SOON_S, self._must_have_stopped, key, arrival)

    def _must_have_stopped(self, key: EndpointKey, arrival: Arrival) -> None:
        process = arrival.process
        lost = self._leases.leases.get(key) != arrival.run_id
        if lost and arrival in self._in_flight[key] and process.alive and not process.frozen:
            self._world.violation(f"{process.name} goes on with {key.id}, whose lease it lost")

    def forget(self, process: SimulatedProcess) -> None:
        """A process died: its connections are closed."""
        for arrivals in self._in_flight.values():
            arrivals[:] = [one for one in arrivals if one.process is not process]


class TargetDispatcher:
    """Sends the requests of one process."""

    def __init__(self, targets: SimulatedTargets, process: SimulatedProcess, world: SimulatedWorld) -> None:
        self._targets = targets
        self._process = process
        self._world = world

    async def execute(self, claim: Claim) -> Outcome:
        """Send a request, and wait for its answer."""
        targets = self._targets
        arrival = targets.arrive(self._process, claim)
        try:
            return await self._answer(targets.random)
        finally:
            targets.leave(claim.key, arrival)

    async def _answer(self, random: Random) -> Outcome:
        roll = random.random()
        if self._targets.is_calm:
            roll = roll * 0.6
        if roll < 0.2:
            return Outcome(RunStatus.SUCCESS)
        if roll < 0.6:
            await asyncio.sleep(random.random() * 2)
            return Outcome(RunStatus.SUCCESS, 1_000)
        if roll < 0.8:
            await asyncio.sleep(random.random())
            return Outcome(RunStatus.FAILURE, 500, error="by chance")
        await asyncio.sleep(random.choice([4, 20, 20, 3_600]))
        return Outcome(RunStatus.SUCCESS, 4_000)
