"""A scenario under planners instead of its own policies: the same world, endpoints and scheduler."""

from dataclasses import replace
from typing import Any

from cadenza.adapters.null import NoQuota, NoTelemetry
from cadenza.adapters.planners.change_detection import fingerprint
from cadenza.domain.planning.planner_settings import Learning, Planning
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.target import Json
from cadenza.engine.planning.consult import Means
from cadenza.sim.analyst_steps import Seating, StepwiseAnalyst
from cadenza.sim.loop import STEP_S, play
from cadenza.sim.product_run import EngineStage
from cadenza.sim.recording import Recording
from cadenza.sim.scenario import Scenario
from cadenza.sim.world import Sample
from cadenza.testing.fakes import FakeIds

FREE = Planning(learning=Learning.ON, llm=True)


class PlannedStage(EngineStage[Sample]):
    """After every tick planners think about what was seen, as they do in a running system."""

    def __init__(self, scenario: Scenario[Sample], seating: Seating) -> None:
        super().__init__(scenario)
        self._seating = seating
        self._analyst: StepwiseAnalyst | None = None

    def answered(self, sample: Sample) -> Json:
        """All that it measured."""
        fields: Any = sample
        return dict(fields._asdict())

    def planned(self, endpoint: Endpoint) -> Endpoint:
        """Every planner may steer it."""
        return evolve(endpoint, planning=FREE)

    async def open(self) -> None:
        await super().open()
        means = Means(
            store=self.store,
            clock=self.clock,
            ids=FakeIds("analysis"),
            quota=NoQuota(),
            steering=self.steering,
            log=self.log,
            telemetry=NoTelemetry(),
            fingerprint=fingerprint,
        )
        self._analyst = StepwiseAnalyst(await self._seating(self.store), means)
        await self._analyst.open()

    async def _tick(self) -> int:
        settled = await super()._tick()
        assert self._analyst is not None, "the stage is not open"
        await self._analyst.think()
        return settled


async def play_planned(scenario: Scenario[Any], seating: Seating, *, step_s: int = STEP_S) -> Recording:
    """Play a scenario without its policies: whoever is seated steers."""
    unsteered = replace(scenario, policies={})
    return await play(PlannedStage(unsteered, seating), unsteered, step_s=step_s)
