"""Plays one seed: builds the system, lets faults happen, lets it come to rest, and checks everything."""

import asyncio
import gc
from datetime import datetime
from random import Random
from typing import NamedTuple

from tests.simulation.whole_system.actions import TENANT
from tests.simulation.whole_system.application_parts import UnreliableAgent
from tests.simulation.whole_system.daily_checks import DailyChecks, DailyRows
from tests.simulation.whole_system.databases import DATABASES, SimulatedDatabase, complete
from tests.simulation.whole_system.fault_plan import LEASE_S, Fault, FaultPlan
from tests.simulation.whole_system.final_checks import final_violations
from tests.simulation.whole_system.leader_locks import LeaderLocks
from tests.simulation.whole_system.lease_checks import LeaseChecks
from tests.simulation.whole_system.people import SimulatedPeople
from tests.simulation.whole_system.processes import SimulatedProcesses
from tests.simulation.whole_system.receivers import AlertReceiver, DailyTarget
from tests.simulation.whole_system.request_checks import RequestChecks
from tests.simulation.whole_system.roles import Roles
from tests.simulation.whole_system.scenario import Scenario, add_first_rows, first_endpoints
from tests.simulation.whole_system.simulated_world import MOST_VIOLATIONS, ProcessIds, SimulatedWorld
from tests.simulation.whole_system.socket_clients import SocketClient
from tests.simulation.whole_system.targets import SimulatedTargets

from cadenza.domain.agents.users import UserKey
from cadenza.domain.daily.keys import daily_key
from cadenza.domain.errors import NotFound
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.testing.virtual_time import Stalled


class Played(NamedTuple):
    """What came of a seed."""

    seed: int
    store: str
    violations: list[str]
    trace: list[str]


class Simulation:
    """One seed on one kind of database."""

    def __init__(self, seed: int, store: str) -> None:
        self.world = world = SimulatedWorld(seed)
        self.scenario = scenario_of(seed)
        ids = ProcessIds(world.now, world.chance("database ids"))
        self.database: SimulatedDatabase = DATABASES[store](ids)
        self.store = self.database.connect_checks(ids)
        self.faults = FaultPlan(world, self.scenario.faults)
        self.leases = LeaseChecks(world, self._endpoint)
        self.requests = RequestChecks(self.leases)
        self.days = DailyChecks(world, self.requests, self.daily_rows)
        self.targets = SimulatedTargets(world, self.leases)
        self.faults.on_thaw = self.targets.thawed
        self.processes = SimulatedProcesses(world, self.database, faults=self.faults, checks=self.days)
        self.roles = Roles(
            world=world,
            targets=self.targets,
            worker_settings=self.scenario.worker_settings,
            locks=LeaderLocks(world),
            daily_target=DailyTarget(world),
            receiver=AlertReceiver(world),
            agent=UnreliableAgent(world.chance("agent")),
        )
        self.people = SimulatedPeople(
            world,
            self.roles,
            endpoints=first_endpoints(self.scenario),
            runs=self.leases if self.scenario.acts_on_runs else None,
        )
        self.clients: dict[str, SocketClient] = {}
        self.roles.daily_target.on_claim = self.days.claimed
        if SLOW & self.scenario.faults:
            self.roles.daily_target.least_between_s = 0.0
        self.first_cutoffs: dict[str, datetime] = {}
        """The first cutoff of each daily user."""
        self._background: list[asyncio.Task[None]] = []

    async def run(self) -> None:
        """Chaos, then calm, then checks."""
        self._start()
        await self._break_things(self.scenario.chaos_s / 2)
        if self.scenario.days_down:
            await self._be_down(self.scenario.days_down * SECONDS_OF_DAY)
        await self._break_things(self.scenario.chaos_s / 2)
        self._calm_down()
        for words in await self._come_to_rest():
            self.world.violation(words)

    def close(self) -> None:
        """End, and delete everything."""
        self.world.loop.close()
        self.database.close()

    async def _come_to_rest(self) -> list[str]:
        """Wait until nothing is wrong any more; what is wrong in the end."""
        await asyncio.sleep(LEASE_S * 5)
        for _ in range(MOST_WAITS):
            if not any(final_violations(self)):
                break
            await asyncio.sleep(WAIT_S)
        return list(final_violations(self))

    def daily_rows(self, key: UserKey) -> DailyRows:
        """What is stored of a daily user now."""
        daily, of_daily = self.store.daily, daily_key(*key)
        stored = (daily.daily_user(of_daily), daily.verdicts_of(of_daily), daily.gaps_of(of_daily))
        return DailyRows(complete(stored[0]), complete(stored[1]), complete(stored[2]))

    def _start(self) -> None:
        scenario, start = self.scenario, self.processes.start
        tokens = add_first_rows(self)
        for user_id in self.first_cutoffs:
            self.days.enrolled(UserKey(TENANT, user_id))
        for number in range(scenario.workers):
            start(f"worker-{number}", self.roles.worker)
        if scenario.has_api:
            for number in range(2):
                start(f"api-{number}", self.roles.api)
            self._background.append(asyncio.create_task(self.people.live()))
        for user_id, token in tokens.items():
            self.clients[user_id] = client = SocketClient(
                self.world, self.roles, user_id=user_id, token=token, faults=self.faults
            )
            self.processes.on_death.append(client.forget)
            self._background.append(asyncio.create_task(client.live()))
        for number in range(2 * scenario.has_planner):
            start(f"planner-{number}", self.roles.planner)
        for number in range(2 * scenario.has_daily):
            start(f"daily-{number}", self.roles.daily)
        roles = self.roles
        parts = (self.targets, roles.locks, roles.daily_target, roles, self.people)
        self.processes.on_death += [part.forget for part in parts]

    def _calm_down(self) -> None:
        """No more faults, and nobody asks for anything new."""
        self.world.note("world", "faults are over")
        roles = self.roles
        self.faults.active = False
        self.faults.set_clocks_right()
        self.people.is_over = True
        for part in (self.targets, roles.daily_target, roles.receiver, roles.agent):
            part.is_calm = True
        for process in self.processes.running.values():
            process.dies_at = None

    async def _break_things(self, span_s: float) -> None:
        until_s = self.world.loop.time() + span_s
        while self.world.loop.time() < until_s:
            await asyncio.sleep(self.faults.random.random() * 6)
            self._break_something()

    async def _be_down(self, span_s: float) -> None:
        """No process runs for so long."""
        self.world.note("world", f"everything is down for {span_s:.0f} s")
        self.processes.down_until_s = self.world.loop.time() + span_s
        for process in [one for one in self.processes.running.values() if one.alive]:
            process.kill()
        await asyncio.sleep(span_s)

    def _break_something(self) -> None:
        faults, random = self.faults, self.faults.random
        alive = [one for one in self.processes.running.values() if one.alive and not one.frozen]
        chosen = [fault for fault in BREAKING if fault in faults.faults]
        if not alive or not chosen:
            return
        workers = [one for one in alive if one.name.startswith("worker")]
        process = random.choice(workers if workers and random.random() < 0.5 else alive)
        match random.choice(chosen):
            case Fault.KILL:
                process.dies_at = process.steps + random.randint(1, 60)
                self.world.note("fault", f"{process.name} dies at step {process.dies_at}")
            case Fault.FREEZE:
                faults.freeze(process)
                self.targets.freezes[process] += 1
            case Fault.OUTAGE:
                faults.begin_outage(
                    random.choice([[process.name], [process.name], list(self.processes.running)])
                )
            case Fault.CLOCK_STEP:
                faults.set_clock(process)
            case _:
                self.world.note("fault", f"{process.name} is asked to stop")
                self.world.loop.run_in_process(process, self.processes.supervisors[process.name].stop)

    def _endpoint(self, key: EndpointKey) -> Endpoint | None:
        try:
            return complete(self.store.endpoints.get(key))
        except NotFound:
            return None


SECONDS_OF_DAY = 86_400
MOST_WAITS, WAIT_S = 20, 15.0
"""An alert is sent again after minutes; what waits for a clock that was set back, as much later."""
SLOW = frozenset({Fault.LATE, Fault.LOST_CALL, Fault.LOST_ANSWER, Fault.OUTAGE, Fault.FREEZE})
"""What makes a tick take long: daily tries count from its beginning, and may come soon after each other."""
BREAKING = (Fault.KILL, Fault.FREEZE, Fault.OUTAGE, Fault.RESTART, Fault.CLOCK_STEP)


def scenario_of(seed: int) -> Scenario:
    """What a seed chooses."""
    return Scenario.of(Random(f"{seed} scenario"))


def play(seed: int, store: str, *, most_violations: int = MOST_VIOLATIONS) -> Played:
    """Play a seed, until so many violations are found."""
    gc.disable()
    simulation = Simulation(seed, store)
    world = simulation.world
    world.most_violations = most_violations
    world.loop.set_exception_handler(lambda _, context: world.violation(f"uncaught: {context}"))
    try:
        try:
            world.loop.run_until_complete(simulation.run())
        except Stalled as problem:
            world.violation(str(problem))
        except asyncio.InvalidStateError:
            world.note("world", "enough was found")
        return Played(seed, store, world.violations[:], world.trace[:])
    finally:
        simulation.close()
        gc.enable()
