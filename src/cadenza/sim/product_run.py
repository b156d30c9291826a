"""Simulates a scenario on the product's own worker and a fake clock, steered through its three tools."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Generic, Protocol, TypedDict

from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.null import NoLog, NoQuota, NoTelemetry
from cadenza.adapters.stores.memory import MemoryStore
from cadenza.domain.json_values import Json
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.due import due
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.domain.scheduling.steer import clear_hints, plan_first_run
from cadenza.domain.validation import iso
from cadenza.engine.steering import Steering, Tools, call_tool
from cadenza.engine.worker.execute import Executor
from cadenza.engine.worker.loop import WorkerLoop
from cadenza.engine.worker.sweeper import Sweeper
from cadenza.ports.catalog import Page
from cadenza.ports.clock import Clock, CronCalculator
from cadenza.ports.scheduling import EndpointStore
from cadenza.ports.store import Store
from cadenza.ports.telemetry import Logger
from cadenza.sim.recording import DueSlot, RecordedRun, StoreHistory
from cadenza.sim.scenario import DORMANT_UNTIL, Scenario, SimulatedEndpoint
from cadenza.sim.steered_endpoint import LONG_PAUSE, SteeredEndpoint
from cadenza.sim.world import START, Measured, MeasuredSeries, Sample
from cadenza.testing.clock import FakeClock
from cadenza.testing.fakes import FakeIds

EVERYTHING = Page(limit=1_000_000)
TENANT, JOB, ORIGIN = "default", "simulation", "planner:policy"


class Ports(TypedDict):
    """What the worker, the sweeper and the tools have in common."""

    store: EndpointStore
    clock: Clock
    cron: CronCalculator
    log: Logger


class ToolAccess(Protocol):
    """The store, the clock and the tools of a simulation."""

    store: Store
    clock: Clock
    cron: CronCalculator
    steering: Steering


class ToolSteeredEndpoint(SteeredEndpoint[Sample]):
    """Reads the store and acts through the tools, as any planner does."""

    def __init__(self, name: str, series: MeasuredSeries[Sample], *, simulation: "ToolAccess") -> None:
        super().__init__(name, series)
        self._store: EndpointStore = simulation.store.endpoints
        self._clock: Clock = simulation.clock
        self._cron = simulation.cron
        self._tools: Tools = simulation.steering.tools(EndpointKey(TENANT, name), origin=ORIGIN)

    @property
    def now(self) -> datetime:
        return self._clock.now()

    async def next_run_at(self) -> datetime | None:
        return (await self._endpoint()).next_run_at

    async def paused(self) -> bool:
        return (await self._endpoint()).paused(self.now)

    async def interval_ms(self) -> int:
        endpoint = await self._endpoint()
        hint = endpoint.interval_hint
        if hint is not None and hint.fresh(self.now):
            return hint.interval_ms
        assert isinstance(endpoint.baseline, Every), "scenarios know intervals only"
        return endpoint.baseline.interval_ms

    async def propose_interval(self, interval_ms: int, *, ttl_minutes: int) -> None:
        await call_tool(
            self._tools, "propose_interval", {"intervalMs": interval_ms, "ttlMinutes": ttl_minutes}
        )

    async def propose_next_time(self, in_ms: int, *, ttl_minutes: int) -> None:
        await call_tool(self._tools, "propose_next_time", {"nextRunInMs": in_ms, "ttlMinutes": ttl_minutes})

    async def clear_hints(self) -> None:
        clear = partial(clear_hints, now=self.now, cron=self._cron, origin=ORIGIN)
        await self._store.amend(EndpointKey(TENANT, self.name), clear)

    async def pause(self, span: timedelta) -> None:
        await call_tool(self._tools, "pause_until", {"untilIso": iso(self.now + span)})

    async def resume(self) -> None:
        await call_tool(self._tools, "pause_until", {"untilIso": None})

    async def _endpoint(self) -> Endpoint:
        return await self._store.get(EndpointKey(TENANT, self.name))


class WorldDispatcher(Generic[Sample]):
    """A run takes a sample of the world, and then steers its own endpoint, if the scenario says so."""

    def __init__(self, simulation: "ProductSimulation[Sample]") -> None:
        self._simulation = simulation
        self._table = {endpoint.name: endpoint for endpoint in simulation.scenario.endpoints}

    async def execute(self, claim: Claim) -> Outcome:
        simulation, endpoint = self._simulation, self._table[claim.endpoint.name]
        response: Json = None
        if endpoint.measures:
            now = simulation.clock.now()
            sample = simulation.scenario.world.sample(now)
            simulation.series.add(endpoint.name, Measured(now, sample))
            response = simulation.response_of(sample)
        if endpoint.pauses_itself:
            await simulation.steered[endpoint.name].pause(LONG_PAUSE)
        if endpoint.name in simulation.scenario.on_run:
            await simulation.scenario.on_run[endpoint.name](simulation.steered[endpoint.name])
        return Outcome(RunStatus.SUCCESS, simulation.scenario.run_ms, response=response)


class ProductSimulation(Generic[Sample]):
    """Worker, sweeper, memory store and tools, wired as a root would wire them."""

    def __init__(self, scenario: Scenario[Sample]) -> None:
        self.scenario = scenario
        self.clock: Clock = FakeClock(START)
        self.series: MeasuredSeries[Sample] = MeasuredSeries()
        self.runs: list[RecordedRun] = []
        self.store: Store = MemoryStore(FakeIds())
        self.log: Logger = NoLog()
        ports = Ports(store=self.store.endpoints, clock=self.clock, cron=CronsimCron(), log=self.log)
        self.cron = ports["cron"]
        self.steering = Steering(store=self.store.endpoints, clock=self.clock, cron=self.cron)
        self.steered: Mapping[str, SteeredEndpoint[Sample]] = {
            endpoint.name: ToolSteeredEndpoint(endpoint.name, self.series, simulation=self)
            for endpoint in scenario.endpoints
        }
        executor = Executor(dispatcher=WorldDispatcher(self), quota=NoQuota(), clock=self.clock)
        self._sweeper = Sweeper(**ports)
        self._worker = WorkerLoop(executor=executor, sweeper=self._sweeper, telemetry=NoTelemetry(), **ports)
        self._due: dict[DueSlot, None] = {}

    def response_of(self, _: Sample) -> Json:
        """The response of a run that took a sample; policies read the series instead."""
        return None

    def with_planning(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint with its planner settings; here only its policy steers it."""
        return endpoint

    async def open(self) -> None:
        now = self.clock.now()
        for endpoint in self.scenario.endpoints:
            added = self.with_planning(new_endpoint(endpoint))
            await self.store.endpoints.add(plan_first_run(added, now=now, cron=self.cron, start_now=True))

    async def tick(self) -> None:
        await self._tick()

    async def drain(self) -> None:
        while await self._tick():
            pass

    async def history(self) -> StoreHistory:
        keys = {name: EndpointKey(TENANT, name) for name in self.steered}
        return StoreHistory(
            due=tuple(self._due),
            rows=tuple([run for key in keys.values() for run in await self.store.runs.runs(key, EVERYTHING)]),
            endpoints={name: await self.store.endpoints.get(key) for name, key in keys.items()},
            hints={name: tuple(await self.store.runs.hints(key, EVERYTHING)) for name, key in keys.items()},
        )

    async def _tick(self) -> int:
        await self._record_due()
        settled = await self._worker.run_once()
        await self._sweeper.sweep()
        for endpoint, run, *_ in settled:
            if run.started_at is not None:
                self.runs.append(
                    RecordedRun(
                        run.started_at, endpoint.name, endpoint.next_source, endpoint.next_run_at, run.source
                    )
                )
        return len(settled)

    async def _record_due(self) -> None:
        """Record what came due, independently of what the store does about it."""
        now = self.clock.now()
        for name in self.steered:
            endpoint = await self.store.endpoints.get(EndpointKey(TENANT, name))
            if due(endpoint, now) and endpoint.next_run_at is not None:
                self._due[DueSlot(name, endpoint.next_run_at)] = None


def new_endpoint(endpoint: SimulatedEndpoint) -> Endpoint:
    """An endpoint of the product, as the scenario's table describes it."""
    most = endpoint.max_s
    return Endpoint(
        id=endpoint.name,
        name=endpoint.name,
        tenant_id=TENANT,
        job_id=JOB,
        baseline=Every(endpoint.baseline_s * 1_000),
        guard=Guard(endpoint.min_s * 1_000, None if most is None else most * 1_000),
        paused_until=DORMANT_UNTIL if endpoint.dormant else None,
    )
