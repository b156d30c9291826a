"""A job in memory that a model is to think about, and the product's own way to let it."""

from datetime import timedelta
from typing import Any

from pydantic_ai.models import Model

from cadenza.adapters.null import NoLog
from cadenza.adapters.planners.llm.client import LlmLimits
from cadenza.adapters.planners.llm.planner import LlmPlanner
from cadenza.adapters.stores.memory import MemoryStore
from cadenza.domain.planning.planner_settings import Planning
from cadenza.domain.scheduling.due import FOREVER
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import RunStatus
from cadenza.engine.planning.analysis import FinishedAnalysis, PlannerEntry, analyze
from cadenza.engine.planning.briefing import Briefer, BriefingBudget
from cadenza.engine.planning.queue import AnalysisRequest
from cadenza.engine.steering import Steering
from cadenza.ports.planning import Briefing
from cadenza.roots.wiring.llm import steering_tool_schemas
from cadenza.testing.contracts.harness import MINUTE, Bench
from cadenza.testing.fakes import FakeIds

SHOP, TRACE, STRANGER = "checkout", "trace", "stranger"
ANALYSIS = {"reasoning": "The page load rises.", "confidence": 0.8, "look_again_minutes": 10}


class LlmJob:
    """`checkout`, which runs every minute, its paused sibling `trace`, and a `stranger` in another job."""

    def __init__(self) -> None:
        self.store = MemoryStore(FakeIds())
        self.bench = Bench(self.store)
        self.waits: list[float] = []

    async def open(self, **fields: Any) -> "LlmJob":
        add, given = self.bench.add, {"planning": Planning(llm=True)} | fields
        await add(SHOP, job_id="shop", **given)
        await add(
            TRACE, job_id="shop", planning=Planning(llm=True), paused_until=FOREVER, next_run_at=FOREVER
        )
        await add(STRANGER, job_id="elsewhere", next_run_at=FOREVER)
        return self

    async def ran(self, response: Any = None, status: RunStatus = RunStatus.SUCCESS) -> None:
        """A run of `checkout`, with what it answered; a minute passes."""
        await self.bench.run_once(status, response=response, duration_ms=40)
        self.bench.pass_ms(MINUTE)

    def planner(self, model: Model, *, pause_s: int = 300, **limits: Any) -> LlmPlanner:
        async def sleep(delay_s: float) -> None:
            self.waits.append(delay_s)

        return LlmPlanner(
            model,
            store=self.store.runs,
            steering=steering_tool_schemas(),
            limits=LlmLimits(**limits),
            pause=timedelta(seconds=pause_s),
            sleep=sleep,
        )

    async def briefing(self, name: str = SHOP, **request_fields: Any) -> Briefing:
        bench = self.bench
        briefer = Briefer(store=self.store, clock=bench.clock, budget=BriefingBudget())
        key = (await self.endpoint(name)).key
        (briefing,) = (await briefer.brief([AnalysisRequest(key, **request_fields)])).values()
        return await briefer.with_health(briefing)

    async def analyze(
        self, planner: LlmPlanner | Model, *, most_calls: int = 20, **request_fields: Any
    ) -> FinishedAnalysis:
        """Run one analysis the way the analyst does."""
        bench, request_fields = self.bench, {"trigger": "run"} | request_fields
        used_planner = planner if isinstance(planner, LlmPlanner) else self.planner(planner)
        steering = Steering(store=self.store.endpoints, clock=bench.clock, cron=bench.cron)
        entry = PlannerEntry(used_planner, timeout_ms=30_000, most_calls=most_calls)
        return await analyze(entry, await self.briefing(**request_fields), steering=steering, log=NoLog())

    async def endpoint(self, name: str = SHOP) -> Endpoint:
        return await self.bench.fresh(await self._named(name))

    async def _named(self, name: str) -> Endpoint:
        return next(one for one in await self.store.catalog.find("default") if one.name == name)


async def as_they_are(job: LlmJob) -> list[Endpoint]:
    """All endpoints, to be compared before and after."""
    return await job.store.catalog.find("default")
