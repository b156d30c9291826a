"""A worker under test: a memory store whose calls can fail, and fakes of the other ports."""

from collections.abc import Callable
from typing import Any

from tests.scheduling.worker.call_recorder import CallRecorder

from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.stores.memory import MemoryStore
from cadenza.domain.access.places import ClaimShares
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey, evolve
from cadenza.domain.scheduling.run import Claim, Outcome, Run, RunStatus
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.validation import milliseconds
from cadenza.engine.steering import Steering, call_tool
from cadenza.engine.worker.claim import Claimer
from cadenza.engine.worker.events import WorkerEvents
from cadenza.engine.worker.execute import Executor
from cadenza.engine.worker.functions import FunctionDeclarations
from cadenza.engine.worker.held_claims import HeldClaims
from cadenza.engine.worker.loop import WorkerLoop
from cadenza.engine.worker.places import WorkerPlaces
from cadenza.engine.worker.sweeper import Sweeper
from cadenza.engine.worker.worker_settings import WorkerSettings
from cadenza.ports.clock import Stopwatch
from cadenza.ports.dispatcher import CanRun
from cadenza.testing import FakeClock, FakeDispatcher, FakeIds, FakeLog, FakeQuota, FakeTelemetry, an_endpoint
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.fakes import EmittedEvent

MINUTE = 60_000
TENANT = "default"
SUCCESS = Outcome(RunStatus.SUCCESS)


class WorkerFixture:
    """A worker loop with its ports, and helpers to add, steer and read endpoints."""

    def __init__(
        self, *, clock: Any = None, store: Any = None, log: Any = None, cron: Any = None, **settings: int
    ) -> None:
        self.clock = clock or FakeClock()
        self.store = CallRecorder(store or MemoryStore(FakeIds()))
        self.log = log or FakeLog()
        self.cron = cron or CronsimCron()
        self.dispatcher = FakeDispatcher()
        self.quota = FakeQuota()
        self.asked = CallRecorder(self.quota)
        self.telemetry = FakeTelemetry()
        around = self._around()
        self.sweeper = Sweeper(**around)
        jitter_ms = settings.get("jitter_ms", 0)
        self.steering = Steering(store=around["store"], clock=self.clock, cron=self.cron, jitter_ms=jitter_ms)
        self.executor = Executor(dispatcher=self.dispatcher, quota=self._any(self.asked), clock=self.clock)
        self._settings = settings
        self.worker = self.loop()

    @property
    def run_events(self) -> list[EmittedEvent]:
        """The events of runs."""
        return [event for event in self.telemetry.events if event.name.startswith("sched.job.")]

    def _around(self) -> dict[str, Any]:
        return {"store": self.store.endpoints, "clock": self.clock, "cron": self.cron, "log": self.log}

    async def lose(self) -> None:
        """Claim one as a worker that dies, and sweep what it had in flight, with events."""
        await self.claim(1)
        self.clock.jump(WorkerSettings(**self._settings).lease_ms)
        await Sweeper(**self._around(), events=WorkerEvents(self.telemetry, self.log)).sweep()

    async def add(self, name: str = "endpoint", *, in_ms: int = 0, **fields: Any) -> Endpoint:
        """Store an endpoint that is due so many milliseconds from now."""
        endpoint = an_endpoint(name, **({"next_run_at": self.at(in_ms)} | fields))
        await self.store.port.endpoints.add(endpoint)
        return endpoint

    def loop(
        self,
        *,
        executor: Executor | None = None,
        can_run: CanRun = lambda: None,
        functions: FunctionDeclarations | None = None,
        stopwatch: Stopwatch | None = None,
        **settings: Any,
    ) -> WorkerLoop:
        """A worker's loop on this store, with the settings of the fixture and these."""
        return WorkerLoop(
            executor=executor or self.executor,
            sweeper=self.sweeper,
            telemetry=self.telemetry,
            settings=WorkerSettings(**(self._settings | settings)),
            can_run=can_run,
            functions=functions,
            stopwatch=stopwatch,
            **self._around(),
        )

    async def tick(self) -> list[SettledRun]:
        """Run what is due, once; what was settled."""
        return await self.worker.run_once()

    async def drain(self) -> list[SettledRun]:
        """Run until nothing is due; what was settled."""
        settled: list[SettledRun] = []
        while batch := await self.tick():
            settled += batch
        return settled

    async def claim(self, limit: int) -> list[Claim]:
        """Claim what is due, and leave it at that, as a worker that dies."""
        settings = WorkerSettings(**self._settings)
        held = HeldClaims(executor=self.executor, clock=self.clock, on_capacity=lambda: None)
        claimer = Claimer(
            store=self.store.endpoints,
            places=WorkerPlaces(held, WorkerSettings(concurrency=limit, claim_limit=limit)),
            can_run=lambda: None,
            clock=self.clock,
            ahead_ms=settings.claim_ahead_ms,
            lease_ms=settings.lease_ms,
        )
        return await claimer.claim(ClaimShares(limit))

    async def endpoint(self, name: str = "endpoint") -> Endpoint:
        """The endpoint as it is stored now."""
        found: Endpoint = await self.store.port.endpoints.get(EndpointKey(TENANT, name))
        return found

    async def runs(self, name: str = "endpoint") -> list[Run]:
        """Its runs, oldest first."""
        found: list[Run] = await self.store.port.runs.runs(EndpointKey(TENANT, name))
        return found[::-1]

    async def only_run(self, name: str = "endpoint") -> Run:
        (run,) = await self.runs(name)
        return run

    async def tool(self, tool: str, name: str = "endpoint", **arguments: Any) -> ChangedEndpoint:
        """Call one of the three tools."""
        tools = self.steering.tools(EndpointKey(TENANT, name), origin="test")
        return await call_tool(tools, tool, arguments)

    async def change(self, name: str = "endpoint", **fields: Any) -> None:
        """Set fields of a stored endpoint, as its owner would."""
        key = EndpointKey(TENANT, name)
        await self.store.port.endpoints.amend(
            key, lambda endpoint: ChangedEndpoint(evolve(endpoint, **fields))
        )

    def at(self, in_ms: float) -> Any:
        """The moment so many milliseconds from now."""
        return self.clock.now() + milliseconds(1) * in_ms

    def takes(self, span_ms: float, name: str = "endpoint") -> None:
        """From now on, endpoints of this name run for so long."""

        async def slowly(_: Claim) -> Outcome:
            await self.clock.sleep(span_ms)
            return SUCCESS

        self.dispatcher.on(name, slowly)

    def moments(self, name: str = "endpoint") -> list[float]:
        """From now on, the moments at which this endpoint is dispatched, in ms since the start."""
        seen: list[float] = []

        def look(_: Claim) -> Outcome:
            seen.append((self.clock.now() - NEW_YEAR) / milliseconds(1))
            return SUCCESS

        self.dispatcher.on(name, look)
        return seen

    @staticmethod
    def _any(value: Any) -> Any:
        return value


class ConcurrencyCounter:
    """A behaviour that counts how many run at the same time."""

    def __init__(self, pause: Callable[[], Any]) -> None:
        self.most = 0
        self._inside = 0
        self._pause = pause

    async def __call__(self, _: Claim) -> Outcome:
        self._inside += 1
        self.most = max(self.most, self._inside)
        try:
            await self._pause()
        finally:
            self._inside -= 1
        return SUCCESS
