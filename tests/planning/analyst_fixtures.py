"""An analyst under test: planners made of plain functions, a store that can fail, and time at hand."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from tests.scheduling.worker.worker_fixtures import WorkerFixture

from cadenza.domain.planning.analysis import Analysis
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.run import Outcome, RunStatus
from cadenza.engine.planning.analysis import PlannerEntry
from cadenza.engine.planning.analyst import Analyst, AnalystSettings
from cadenza.engine.planning.briefing import BriefingBudget
from cadenza.engine.planning.planner_pool import PlannerPoolSettings
from cadenza.engine.planning.planner_runner import PlannerDependencies
from cadenza.ports.planning import EMPTY_RESULT, Briefing, CallTool, PlannerResult
from cadenza.testing import FakeClock, FakeIds

Analyze = Callable[[Briefing, CallTool], Awaitable[PlannerResult]]


class ScriptedPlanner:
    """A planner that does what a test says, and keeps the briefings it got."""

    def __init__(
        self,
        analyze: Analyze | None = None,
        *,
        name: str = "scripted",
        wants: Callable[[Briefing], bool] = lambda _: True,
    ) -> None:
        self.name = name
        self.briefings: list[Briefing] = []
        self.at_once = self.most_at_once = 0
        self._analyze = analyze
        self._wants = wants

    def wants(self, briefing: Briefing) -> bool:
        return self._wants(briefing)

    async def sit(self, briefing: Briefing, call: CallTool) -> PlannerResult:
        self.briefings.append(briefing)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            return EMPTY_RESULT if self._analyze is None else await self._analyze(briefing, call)
        finally:
            self.at_once -= 1

    @property
    def seen(self) -> list[tuple[str, str]]:
        """The endpoints and triggers of its briefings."""
        return [(briefing.endpoint.id, briefing.trigger.value) for briefing in self.briefings]


class AnalystHarness:
    """A corridor whose runs an analyst follows."""

    def __init__(self, **settings: Any) -> None:
        self.fixture = WorkerFixture(clock=FakeClock(manual=True))
        self.clock, self.store, self.log = self.fixture.clock, self.fixture.store, self.fixture.log
        self._pool_settings = PlannerPoolSettings(**settings)
        self.budget = BriefingBudget()

    @property
    def dependencies(self) -> PlannerDependencies:
        fixture = self.fixture
        return PlannerDependencies(
            store=WorkerFixture._any(fixture.store),
            clock=fixture.clock,
            ids=FakeIds("analysis"),
            quota=fixture.quota,
            steering=fixture.steering,
            log=fixture.log,
            telemetry=fixture.telemetry,
            budget=self.budget,
        )

    def analyst(self, *pools: Sequence[PlannerEntry | ScriptedPlanner]) -> Analyst:
        entries = [
            [one if isinstance(one, PlannerEntry) else PlannerEntry(one) for one in pool] for pool in pools
        ]
        return Analyst(
            entries, dependencies=self.dependencies, settings=AnalystSettings(pool=self._pool_settings)
        )

    @asynccontextmanager
    async def watched_by(self, *planners: PlannerEntry | ScriptedPlanner) -> AsyncIterator[None]:
        """An analyst with one pool works in the background."""
        async with self.working(self.analyst(planners)):
            yield

    @asynccontextmanager
    async def working(self, analyst: Analyst) -> AsyncIterator["asyncio.Task[None]"]:
        task = asyncio.create_task(analyst.run())
        await self.settle()
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def settle(self, span_ms: float = 3_000) -> None:
        """Let time pass, and everything that is to happen in it."""
        for _ in range(4):
            await self.clock.advance(span_ms / 4)

    async def run(self, name: str = "endpoint", response: Any = None, *, ok: bool = True) -> None:
        """Run what is due, once, and let planners think about it."""
        status = RunStatus.SUCCESS if ok else RunStatus.FAILURE
        self.fixture.dispatcher.on(name, lambda _: Outcome(status, response=response))
        await self.fixture.change(name, next_run_at=self.clock.now())
        await self.fixture.tick()
        await self.settle()

    async def analyses(self, name: str = "endpoint") -> list[Analysis]:
        found: list[Analysis] = await self.store.port.analyses.analyses(EndpointKey("default", name))
        return found[::-1]
