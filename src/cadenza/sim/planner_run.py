"""Simulates a scenario with planners instead of its own policies, on the same worker."""

from dataclasses import replace
from typing import Any

from cadenza.adapters.null import NoQuota, NoTelemetry
from cadenza.adapters.planners.change_detection import fingerprint
from cadenza.domain.json_values import Json
from cadenza.domain.planning.planner_settings import Learning, Planning
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.engine.planning.planner_runner import PlannerDependencies
from cadenza.sim.analyst_steps import PlannerFactory, StepwiseAnalyst
from cadenza.sim.loop import STEP_S, run_simulation
from cadenza.sim.product_run import ProductSimulation
from cadenza.sim.recording import Recording
from cadenza.sim.scenario import Scenario
from cadenza.sim.world import Sample
from cadenza.testing.fakes import FakeIds

FREE = Planning(learning=Learning.ON, llm=True)


class PlannerSimulation(ProductSimulation[Sample]):
    """After every tick the planners analyze what was measured, as they do in a running system."""

    def __init__(self, scenario: Scenario[Sample], make_planners: PlannerFactory) -> None:
        super().__init__(scenario)
        self._make_planners = make_planners
        self._analyst: StepwiseAnalyst | None = None

    def response_of(self, sample: Sample) -> Json:
        """All that it measured, as JSON."""
        fields: Any = sample
        return dict(fields._asdict())

    def with_planning(self, endpoint: Endpoint) -> Endpoint:
        """Every planner may steer it."""
        return evolve(endpoint, planning=FREE)

    async def open(self) -> None:
        await super().open()
        dependencies = PlannerDependencies(
            store=self.store,
            clock=self.clock,
            ids=FakeIds("analysis"),
            quota=NoQuota(),
            steering=self.steering,
            log=self.log,
            telemetry=NoTelemetry(),
            fingerprint=fingerprint,
        )
        self._analyst = StepwiseAnalyst(await self._make_planners(self.store), dependencies)
        await self._analyst.open()

    async def _tick(self) -> int:
        settled = await super()._tick()
        assert self._analyst is not None, "open() comes first"
        await self._analyst.analyze_pending()
        return settled


async def run_planner(
    scenario: Scenario[Any], make_planners: PlannerFactory, *, step_s: int = STEP_S
) -> Recording:
    """Simulate a scenario without its policies: the planners steer."""
    unsteered = replace(scenario, policies={}, on_run={})
    return await run_simulation(PlannerSimulation(unsteered, make_planners), unsteered, step_s=step_s)
