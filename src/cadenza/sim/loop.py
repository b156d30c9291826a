"""Steps of a simulation: run what is due, let policies steer, drain, let the minute pass, take a snapshot."""

from collections.abc import Mapping
from typing import Protocol

from cadenza.ports.clock import Clock
from cadenza.sim.recording import RecordedRun, Recording, Snapshot, StoreHistory
from cadenza.sim.scenario import Scenario
from cadenza.sim.steered_endpoint import SteeredEndpoint
from cadenza.sim.world import MINUTE_S, MINUTES, MeasuredSeries, Sample

STEP_S = 5


class SimulatedScheduler(Protocol[Sample]):
    """A scheduler that a scenario is simulated on, with a clock of its own."""

    clock: Clock
    series: MeasuredSeries[Sample]
    steered: Mapping[str, SteeredEndpoint[Sample]]
    runs: list[RecordedRun]

    async def open(self) -> None:
        """Create the endpoints."""
        ...

    async def tick(self) -> None:
        """Run what is due, once."""
        ...

    async def drain(self) -> None:
        """Run until nothing is due."""
        ...

    async def history(self) -> StoreHistory:
        """What the store holds."""
        ...


async def run_simulation(
    simulation: SimulatedScheduler[Sample], scenario: Scenario[Sample], *, step_s: int = STEP_S
) -> Recording:
    """Simulate all minutes of a scenario; a minute is a multiple of the step."""
    await simulation.open()
    snapshots = [
        await _minute(simulation, scenario, minute=minute, step_s=step_s) for minute in range(MINUTES)
    ]
    return Recording(
        scenario=scenario,
        ended_at=simulation.clock.now(),
        runs=tuple(simulation.runs),
        snapshots=tuple(snapshots),
        history=await simulation.history(),
    )


async def _minute(
    simulation: SimulatedScheduler[Sample], scenario: Scenario[Sample], *, minute: int, step_s: int
) -> Snapshot:
    await simulation.tick()
    for name, policy in scenario.policies.items():
        await policy(simulation.steered[name])
    await simulation.drain()
    for _ in range(MINUTE_S // step_s):
        await simulation.clock.sleep(step_s * 1_000)
        await simulation.tick()
    return Snapshot(
        minute=minute,
        phase=scenario.world.phase(minute).name,
        sample_age=simulation.clock.now() - simulation.series.shared[-1].at,
        row={"minute": minute, **await scenario.observe(simulation.steered)},
    )
