"""The busy host: its phases, its two endpoints, their policies, and what a snapshot shows."""

from collections.abc import Mapping
from datetime import timedelta
from itertools import takewhile
from typing import NamedTuple

from cadenza.domain.validation import iso
from cadenza.sim.scenario import Row, Scenario, SimulatedEndpoint, SnapshotColumn
from cadenza.sim.steered_endpoint import LONG_PAUSE, SOON_MS, SteeredEndpoint
from cadenza.sim.world import Phase, World

NAME = "system-resources"
RUN_MS = 200
CPU, DISCORD = "cpu_check#hostA", "discord_notify#hostA"
HIGH, LOW = 80, 65
CALM_SAMPLES = 5
TIGHT_S, WIDE_S = 30, 180
ALERT_PAUSE = timedelta(seconds=15)
ALERT_COOLDOWN = timedelta(minutes=10)


class Host(NamedTuple):
    """What a run of the processor's endpoint measures, in percent."""

    cpu: int
    mem: int = 60
    disk: int = 40


WORLD = World((Phase("calm", 0, Host(40)), Phase("high", 5, Host(90)), Phase("recovered", 20, Host(50))))

COLUMNS = (
    SnapshotColumn("minute"),
    SnapshotColumn("cpu", "%"),
    SnapshotColumn("nextIn", "s"),
    SnapshotColumn("nextRunAt"),
    SnapshotColumn("discordPaused"),
)

ENDPOINTS = (
    SimulatedEndpoint(name=CPU, tier="health", baseline_s=300, min_s=20, max_s=900),
    SimulatedEndpoint(name=DISCORD, tier="alert", baseline_s=3600, min_s=10, dormant=True, measures=False),
)


async def watch_cpu(endpoint: SteeredEndpoint[Host]) -> None:
    """Look closely while it is high, and once more at once; look less often when it has long been low."""
    newest_first = [measured.sample.cpu for measured in reversed(endpoint.own)]
    if not newest_first:
        return
    high = len(list(takewhile(lambda cpu: cpu >= HIGH, newest_first)))
    low = len(list(takewhile(lambda cpu: cpu < LOW, newest_first)))
    if high:
        await endpoint.keep_interval(TIGHT_S)
        if high == 1:
            await endpoint.propose_next_time(SOON_MS, ttl_minutes=10)
    elif low >= CALM_SAMPLES:
        await endpoint.keep_interval(WIDE_S)


async def notify_discord(endpoint: SteeredEndpoint[Host]) -> None:
    """Tell people once; be ready again when it is over."""
    if not endpoint.shared:
        return
    cpu, paused = endpoint.shared[-1].sample.cpu, await endpoint.paused()
    if endpoint.cooled_down() and cpu >= HIGH and paused:
        await endpoint.wake(ttl_minutes=2)
        await endpoint.pause(ALERT_PAUSE)
        endpoint.cooldown_over = endpoint.now + ALERT_COOLDOWN
    elif cpu < LOW and not paused:
        await endpoint.pause(LONG_PAUSE)
        endpoint.cooldown_over = None


def system_resources() -> Scenario[Host]:
    """The whole scenario; its policies are the same in both modes."""
    return Scenario(
        name=NAME,
        world=WORLD,
        endpoints=ENDPOINTS,
        policies={CPU: watch_cpu, DISCORD: notify_discord},
        columns=COLUMNS,
        observe=_observe,
        run_ms=RUN_MS,
    )


async def _observe(steered: Mapping[str, SteeredEndpoint[Host]]) -> Row:
    cpu = steered[CPU]
    next_run_at = await cpu.next_run_at()
    return {
        "cpu": cpu.own[-1].sample.cpu,
        "nextIn": None if next_run_at is None else (next_run_at - cpu.now) // timedelta(seconds=1),
        "nextRunAt": None if next_run_at is None else iso(next_run_at),
        "discordPaused": await steered[DISCORD].paused(),
    }
