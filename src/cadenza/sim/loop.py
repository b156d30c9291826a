"""The course of a simulation: measure, plan, drain, let the minute pass, take a snapshot."""

from collections.abc import Mapping
from typing import Protocol

from cadenza.ports.clock import Clock
from cadenza.sim.recording import History, Played, Recording, Snapshot
from cadenza.sim.scenario import Scenario
from cadenza.sim.steered_endpoint import Steered
from cadenza.sim.world import MINUTE_S, MINUTES, Sample, Series

STEP_S = 5


class Stage(Protocol[Sample]):
    """A scheduler to play on, with a clock of its own."""

    clock: Clock
    series: Series[Sample]
    steered: Mapping[str, Steered[Sample]]
    runs: list[Played]

    async def open(self) -> None:
        """Create the endpoints."""
        ...

    async def tick(self) -> None:
        """Run what is due, once."""
        ...

    async def drain(self) -> None:
        """Run until nothing is due."""
        ...

    async def history(self) -> History:
        """What the store holds."""
        ...


async def play(stage: Stage[Sample], scenario: Scenario[Sample], *, step_s: int = STEP_S) -> Recording:
    """Play all minutes of a scenario; a step is a whole part of a minute."""
    await stage.open()
    snapshots = [await _minute(stage, scenario, minute=minute, step_s=step_s) for minute in range(MINUTES)]
    return Recording(
        scenario=scenario,
        ended_at=stage.clock.now(),
        runs=tuple(stage.runs),
        snapshots=tuple(snapshots),
        history=await stage.history(),
    )


async def _minute(stage: Stage[Sample], scenario: Scenario[Sample], *, minute: int, step_s: int) -> Snapshot:
    await stage.tick()
    for name, policy in scenario.policies.items():
        await policy(stage.steered[name])
    await stage.drain()
    for _ in range(MINUTE_S // step_s):
        await stage.clock.sleep(step_s * 1_000)
        await stage.tick()
    return Snapshot(
        minute=minute,
        phase=scenario.world.phase(minute).name,
        sample_age=stage.clock.now() - stage.series.shared[-1].at,
        row={"minute": minute, **await scenario.observe(stage.steered)},
    )
