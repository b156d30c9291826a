"""The processes of a simulation: they are started, die, and are started again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

from tests.simulation.whole_system.connections import CommitChecks, StoreConnection
from tests.simulation.whole_system.databases import SimulatedDatabase
from tests.simulation.whole_system.fault_plan import FaultPlan
from tests.simulation.whole_system.process_clocks import MachineTime, ProcessClock
from tests.simulation.whole_system.simulated_world import (
    ProcessIds,
    ProcessLog,
    ProcessTokens,
    SimulatedWorld,
)

from cadenza.adapters.telemetry.event_bus import EventBus
from cadenza.engine.supervision import Part, Supervisor
from cadenza.ports.store import Store
from cadenza.testing.simulated_process import SimulatedProcess


@dataclass(frozen=True, kw_only=True)
class ProcessContext:
    """What the parts of one process share."""

    process: SimulatedProcess
    store: Store
    clock: ProcessClock
    ids: ProcessIds
    tokens: ProcessTokens
    log: ProcessLog
    events: EventBus


MakeParts = Callable[[ProcessContext], Sequence[Part]]


class SimulatedProcesses:
    """Keeps a number of processes running, each with its role."""

    def __init__(
        self, world: SimulatedWorld, database: SimulatedDatabase, *, faults: FaultPlan, checks: CommitChecks
    ) -> None:
        self._world = world
        self._database = database
        self._faults = faults
        self._checks = checks
        self._random: Random = world.chance("processes")
        self._roles: dict[str, MakeParts] = {}
        self._machine = MachineTime()
        """Of the machine that has the database."""
        self.down_until_s = 0.0
        """Nothing is started before."""
        self.starts = 0
        """How many workers were started."""
        self.running: dict[str, SimulatedProcess] = {}
        self.supervisors: dict[str, Supervisor] = {}
        self.on_death: list[Callable[[SimulatedProcess], None]] = []

    def start(self, name: str, make_parts: MakeParts) -> None:
        """Start a process, and start it again whenever it has ended."""
        self._roles[name] = make_parts
        if (down_s := self.down_until_s - self._world.loop.time()) > 0:
            self._world.later(down_s, self.start, name, make_parts)
            return
        self.starts += name.startswith("worker")
        process = self._world.loop.start_process(name, self._run)
        process.on_death = partial(self._died, process)
        self.running[name] = process
        self._world.note(name, "starts")

    async def _run(self, process: SimulatedProcess) -> None:
        context = self._context(process)
        supervisor = Supervisor(clock=context.clock, log=context.log, telemetry=context.events)
        self.supervisors[process.name] = supervisor
        try:
            await supervisor.run(*self._roles[process.name](context))
        except Exception as problem:  # noqa: BLE001 - it must not end by itself
            self._world.violation(f"{process.name} ended with {problem!r}")
        self._world.note(process.name, "has stopped")
        self._world.later(0, process.kill)

    def _context(self, process: SimulatedProcess) -> ProcessContext:
        world = self._world
        world.clocks[process] = clock = self.new_clock()
        chance = world.chance(f"{process.name} {world.loop.time()}")
        ids, log = ProcessIds(clock.now, chance), ProcessLog(world, process)
        connection = StoreConnection(
            world,
            process,
            fates=self._faults,
            checks=self._checks,
            has_clock=not self._database.one_machine,
        )
        return ProcessContext(
            process=process,
            store=connection.over(self._database.connect(ids)),
            clock=clock,
            ids=ids,
            tokens=ProcessTokens(chance),
            log=log,
            events=EventBus(log),
        )

    def new_clock(self) -> ProcessClock:
        """The clock of a new process, which runs on the machine of the database or on one of its own."""
        machine = self._machine if self._database.one_machine else MachineTime()
        return ProcessClock(self._world.loop, machine, self._faults.clock_drift())

    def _died(self, process: SimulatedProcess) -> None:
        name, world = process.name, self._world
        world.note(name, "is gone")
        for callback in self.on_death:
            callback(process)
        delay = self._random.choice([0.1, 2.0, 8.0])
        world.later(delay, self.start, name, self._roles[name])
