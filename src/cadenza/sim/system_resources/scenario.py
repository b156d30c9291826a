"""The busy host: its phases, its two endpoints, their policies, and what a snapshot shows."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from itertools import takewhile
from typing import NamedTuple

from cadenza.domain.validation import iso
from cadenza.sim.scenario import Row, Scenario, SimulatedEndpoint, SnapshotColumn, SteeringPolicy
from cadenza.sim.steered_endpoint import LONG_PAUSE, SOON_MS, SteeredEndpoint
from cadenza.sim.world import Phase, World

NAME = "system-resources"
RUN_MS = 200
CPU, DISCORD = "cpu_check#hostA", "discord_notify#hostA"
HIGH, LOW = 80, 65
CALM_SAMPLES = 5
TIGHT_S, WIDE_S = 30, 180
ALERT_IN_MS, ALERT_TTL_MINUTES = 10_000, 2
"""The minimum interval of the alert: an earlier moment would be clamped to it, and be no one-shot."""
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


def _newest_samples(endpoint: SteeredEndpoint[Host], condition: Callable[[int], bool]) -> int:
    """How many samples in a row, the newest among them, meet a condition."""
    return len(list(takewhile(condition, (one.sample.cpu for one in reversed(endpoint.own)))))


async def watch_cpu(endpoint: SteeredEndpoint[Host]) -> None:
    """Look closely while it is high, and once more at once."""
    high = _newest_samples(endpoint, lambda cpu: cpu >= HIGH)
    if high:
        await endpoint.keep_interval(TIGHT_S)
    if high == 1:
        await endpoint.propose_next_time(SOON_MS, ttl_minutes=10)


async def return_to_baseline(endpoint: SteeredEndpoint[Host]) -> None:
    """The first run that measures a calm processor ends the close look."""
    if endpoint.own[-1].sample.cpu < LOW and await endpoint.interval_ms() == TIGHT_S * 1_000:
        await endpoint.clear_hints()


def notify_once_per_incident() -> SteeringPolicy[Host]:
    """Send one alert when the processor is high, and no other before it was calm."""
    alerted = False

    async def policy(endpoint: SteeredEndpoint[Host]) -> None:
        nonlocal alerted
        cpu = endpoint.shared[-1].sample.cpu if endpoint.shared else 0
        if cpu >= HIGH and not alerted and endpoint.cooled_down():
            await endpoint.resume()
            await endpoint.propose_next_time(ALERT_IN_MS, ttl_minutes=ALERT_TTL_MINUTES)
            endpoint.cooldown_over = endpoint.now + ALERT_COOLDOWN
            alerted = True
        elif cpu < LOW:
            alerted = False

    return policy


async def pause_again(endpoint: SteeredEndpoint[Host]) -> None:
    """The run that sends the alert closes the gate behind itself."""
    await endpoint.pause(LONG_PAUSE)


async def watch_cpu_as_published(endpoint: SteeredEndpoint[Host]) -> None:
    """As above; and look less often when it has long been low."""
    await watch_cpu(endpoint)
    if _newest_samples(endpoint, lambda cpu: cpu < LOW) >= CALM_SAMPLES:
        await endpoint.keep_interval(WIDE_S)


async def notify_as_published(endpoint: SteeredEndpoint[Host]) -> None:
    """Wake it with a one-shot behind a short pause; pause it for long when it is over."""
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


def system_resources(*, as_published: bool = False) -> Scenario[Host]:
    """The whole scenario, with the policies as wanted."""
    return Scenario(
        name=NAME,
        world=WORLD,
        endpoints=ENDPOINTS,
        policies={CPU: watch_cpu_as_published, DISCORD: notify_as_published}
        if as_published
        else {CPU: watch_cpu, DISCORD: notify_once_per_incident()},
        on_run={} if as_published else {CPU: return_to_baseline, DISCORD: pause_again},
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
