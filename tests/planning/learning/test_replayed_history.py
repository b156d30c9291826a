"""The learning planner through the real scheduler, analyst and tools: recorded history, played again."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from random import Random
from statistics import mean

from cadenza.adapters.planners.learning.planner import LearningPlanner
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.ports.planning import Planner
from cadenza.ports.store import Store
from cadenza.sim.replay.replay import (
    RecordedHistory,
    ReplayPolicy,
    ReplayResult,
    ReplaySimulation,
    recorded_history,
    replay,
)
from cadenza.testing.builders import an_endpoint
from cadenza.testing.clock import NEW_YEAR

HOURS, STEP_S, PERIOD_S = 14, 20, 300
GUARD = Guard(60_000, 900_000)
RATES_PER_HOUR = (6.0, 6.0, 0.05, 0.05, 0.05, 0.05)


def a_history(name: str, per_hour: float) -> RecordedHistory:
    """What a run every twenty seconds would have shown of an endpoint that changes at random."""
    chance, value, runs = Random(name), 0, []
    for second in range(0, HOURS * 3_600, STEP_S):
        value += chance.random() < per_hour * STEP_S / 3_600
        moment = NEW_YEAR + timedelta(seconds=second)
        runs.append(
            Run(
                id=f"{name}-{second:06}",
                tenant_id="default",
                job_id="default",
                endpoint_id=name,
                slot=moment,
                due_at=moment,
                attempt=1,
                source=Source.BASELINE_INTERVAL,
                claimed_at=moment,
                started_at=moment,
                finished_at=moment,
                status=RunStatus.SUCCESS,
                verdict=True,
                response=value,
            )
        )
    found = recorded_history(an_endpoint(name, baseline=Every(PERIOD_S * 1_000), guard=GUARD), runs)
    assert found is not None
    return found


async def learning(store: Store) -> Sequence[Planner]:
    return [LearningPlanner(store)]


HISTORY = [a_history(f"endpoint-{number}", rate) for number, rate in enumerate(RATES_PER_HOUR)]
LEARNED = ReplayPolicy(name="learned", make_planners=learning)


def delay_s(course: ReplayResult) -> float:
    return mean((delay.least_s + delay.most_s) / 2 for delay in course.delays)


async def test_it_sees_changes_sooner_than_the_baseline_with_the_same_number_of_runs() -> None:
    plain, learned = (await replay(HISTORY, [ReplayPolicy(name="baseline"), LEARNED])).others
    assert learned.runs <= plain.runs * 1.05
    assert delay_s(learned) < delay_s(plain) * 0.75


async def test_the_guard_is_never_broken() -> None:
    simulation = ReplaySimulation(LEARNED, HISTORY)
    await simulation.open()
    observations = await simulation.run(HISTORY[0].times[-1])
    gaps = [later - earlier for course in observations.values() for earlier, later in pairwise(course)]
    assert len(gaps) > 500
    assert min(gaps) >= timedelta(seconds=60)
    assert max(gaps) <= timedelta(seconds=900)
