"""The learning planner at a table of its own: endpoints in a store, real tools, time at hand."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.planners.learning.planner import LearningPlanner
from cadenza.adapters.stores.memory.store import MemoryStore
from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.planning.planner_settings import Learning, Planning
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey, evolve
from cadenza.domain.scheduling.hint import Rank
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.validation import milliseconds
from cadenza.engine.steering import Steering, call_tool
from cadenza.ports.planning import EMPTY_RESULT, Briefing, PlannerResult
from cadenza.testing.builders import an_endpoint
from cadenza.testing.clock import FakeClock
from cadenza.testing.fakes import FakeIds

MINUTE_MS = 60_000
ON = Planning(learning=Learning.ON)


class LearningHarness:
    """Endpoints of one job that run once a minute, and what the planner makes of them."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = MemoryStore(FakeIds())
        self.planner = LearningPlanner(self.store)
        self.called: list[tuple[str, str, dict[str, Any]]] = []
        self.runs: dict[str, list[Run]] = {}
        self._steering = Steering(store=self.store.endpoints, clock=self.clock, cron=CronsimCron())

    async def add_endpoints(self, *names: str, **fields: Any) -> None:
        """Add endpoints."""
        defaults = {"planning": ON, "baseline": Every(MINUTE_MS), "next_run_at": self.clock.now()}
        for name in names or ("front",):
            await self.store.endpoints.add(an_endpoint(name, **(defaults | fields)))

    def key(self, name: str = "front") -> EndpointKey:
        return EndpointKey("default", name)

    async def at(self, name: str = "front") -> Endpoint:
        return await self.store.endpoints.get(self.key(name))

    async def steer(self, tool: str, arguments: Mapping[str, Any], origin: str = "person") -> None:
        """Somebody else steers."""
        await call_tool(self._steering.tools(self.key(), origin=origin), tool, arguments)

    async def call(
        self,
        endpoint: Endpoint,
        tool: str,
        arguments: Mapping[str, Any],
        /,
        *,
        rule: str | None = None,
        rank: Rank = Rank.RULE,
    ) -> ChangedEndpoint:
        assert (rule, rank) == (None, Rank.RULE), "it follows no rule"
        self.called.append((endpoint.name, tool, dict(arguments)))
        return await call_tool(self._steering.tools(endpoint.key, origin="planner:learned"), tool, arguments)

    async def brief(self, name: str, trigger: Trigger) -> Briefing:
        others = {one: await self.at(one) for one in self.runs if one != name}
        recent = list(reversed(self.runs.get(name, [])))[:20]
        return Briefing(
            now=self.clock.now(),
            endpoint=await self.at(name),
            trigger=trigger,
            recent=recent,
            siblings=others,
        )

    async def run(
        self,
        value: Any,
        name: str = "front",
        status: RunStatus = RunStatus.SUCCESS,
        *,
        source: Source = Source.BASELINE_INTERVAL,
        late_ms: int = 0,
    ) -> None:
        """It runs now, and nobody thinks about it yet."""
        now = self.clock.now()
        runs = self.runs.setdefault(name, [])
        run = Run(
            id=f"{name}-{len(runs)}",
            tenant_id="default",
            job_id="default",
            endpoint_id=name,
            slot=now - milliseconds(late_ms),
            due_at=now - milliseconds(late_ms),
            attempt=1,
            source=source,
            claimed_at=now,
            started_at=now,
            finished_at=now,
            status=status,
            verdict=True,
            response=value,
        )
        runs.append(run)
        following = now + timedelta(minutes=1)
        await self.store.endpoints.amend(
            self.key(name), lambda old: ChangedEndpoint(evolve(old, last_run_at=now, next_run_at=following))
        )

    async def analyze(self, name: str = "front", trigger: Trigger = Trigger.RUN) -> PlannerResult:
        """The planner thinks, if it wants to."""
        briefing = await self.brief(name, trigger)
        if not self.planner.wants(briefing):
            return EMPTY_RESULT
        return await self.planner.sit(briefing, self.call)

    async def run_and_analyze(
        self, value: Any, name: str = "front", status: RunStatus = RunStatus.SUCCESS
    ) -> PlannerResult:
        """It runs, and the planner thinks about it."""
        await self.run(value, name, status)
        return await self.analyze(name)

    async def run_repeatedly(
        self, observations: int, *, every: int, name: str = "front", gap_ms: int = MINUTE_MS
    ) -> PlannerResult:
        """Runs of which every so many show something new; the last result."""
        result = EMPTY_RESULT
        for number in range(observations):
            self.clock.jump(gap_ms)
            result = await self.run_and_analyze(number // every, name)
        return result

    def tools(self) -> list[str]:
        """What was called since the last time."""
        told, self.called = [tool for _, tool, _ in self.called], []
        return told
