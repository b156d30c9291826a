"""Full cycles per second: claim, run a no-op, record, plan the next; beside a hand-written ceiling.

Laps of the product, tuned for bursts and with its defaults, and of the ceiling take turns, and a ratio is
the median of such pairs: the machine's other work meets all. Speed and cost are those of the best lap,
which it disturbed least.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import NamedTuple

from benchmarks.sqlite_ceiling import SqliteCeiling
from benchmarks.workers import BATCH, CLOCK, worker_loop

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.memory import MemoryStore
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.ports.store import Store
from cadenza.roots.wiring.process import run_event_loop, tune_garbage_collection

DONE = Outcome(RunStatus.SUCCESS)
LAP_SECONDS = 0.5
WARM_UP_SECONDS = 0.3


class Lap(NamedTuple):
    """What was done in which time."""

    cycles: int
    seconds: float
    cpu_seconds: float

    @property
    def rate(self) -> "CycleRate":
        """Its cycles per second and their CPU cost."""
        return CycleRate(self.cycles / self.seconds, self.cpu_seconds / self.cycles * 1e6)


class CycleRate(NamedTuple):
    """Speed and cost of cycles."""

    per_second: float
    cpu_us: float
    """Microseconds of this process's CPU for a cycle."""


def best(laps: Iterable[Lap]) -> CycleRate:
    """The highest rate and the lowest cost of any lap in which something was done."""
    rates = [lap.rate for lap in laps if lap.cycles]
    return CycleRate(max(rate.per_second for rate in rates), min(rate.cpu_us for rate in rates))


def ratios(ours: Iterable[Lap], ceiling: Iterable[Lap]) -> CycleRate:
    """How near the product comes to the ceiling in speed and in cost: the median of paired laps."""
    pairs = [(own.rate, least.rate) for own, least in zip(ours, ceiling, strict=True)]
    return CycleRate(
        median(own.per_second / least.per_second for own, least in pairs),
        median(least.cpu_us / own.cpu_us for own, least in pairs),
    )


class Noop:
    """A dispatcher that only counts."""

    def __init__(self) -> None:
        self.count = 0

    async def execute(self, _: Claim) -> Outcome:
        """Nothing."""
        self.count += 1
        return DONE


class Laps(NamedTuple):
    """Laps that took turns."""

    tuned: list[Lap]
    default: list[Lap]
    ceiling: list[Lap]


async def in_turns(store: Store, endpoints: int, laps: int, least: Callable[[], Lap] | None = None) -> Laps:
    """Let workers run endpoints that are always due, and the ceiling between them."""
    start, timed = CLOCK.now(), Laps([], [], [])
    for number in range(endpoints):
        name = f"endpoint-{number:06}"
        await store.endpoints.add(Endpoint(id=name, name=name, baseline=Every(1), next_run_at=start))
    for _ in range(laps):
        timed.tuned.append(await product(store))
        timed.default.append(await product(store, default=True))
        if least is not None:
            timed.ceiling.append(least())
    return timed


async def product(store: Store, *, default: bool = False) -> Lap:
    """A lap of a worker that has warmed up."""
    noop = Noop()
    loop = worker_loop(store, noop, default=default)
    running = asyncio.create_task(loop.run())
    await asyncio.sleep(WARM_UP_SECONDS)
    timed = await lap(noop)
    loop.stop()
    await running
    return timed


async def lap(noop: Noop) -> Lap:
    """The cycles of one lap."""
    before, began, cpu = noop.count, perf_counter(), process_time()
    await asyncio.sleep(LAP_SECONDS)
    return Lap(noop.count - before, perf_counter() - began, process_time() - cpu)


def ceiling_lap(ceiling: SqliteCeiling) -> Lap:
    """The same without a scheduler: as many batches as fit into a lap."""
    cycles, began, cpu = 0, perf_counter(), process_time()
    while perf_counter() - began < LAP_SECONDS:
        cycles += ceiling.cycle()
    return Lap(cycles, perf_counter() - began, process_time() - cpu)


async def in_memory(endpoints: int, laps: int) -> Laps:
    """The engine without a database."""
    return await in_turns(MemoryStore(TimeOrderedIds()), endpoints, laps)


async def on_sqlite(folder: Path, endpoints: int, laps: int) -> Laps:
    """The product on a file, and the ceiling on another."""
    path = folder / "cadenza.db"
    await migrate(f"sqlite:///{path}")
    store = SqliteStore(SqliteFile(path), TimeOrderedIds())
    ceiling = SqliteCeiling(folder / "ceiling.db", endpoints=endpoints, batch=BATCH)
    try:
        return await in_turns(store, endpoints, laps, lambda: ceiling_lap(ceiling))
    finally:
        ceiling.close()
        await store.close()


def measure(endpoints: int, laps: int) -> dict[str, float]:
    """All laps in one run, and the ratios that count."""
    with tempfile.TemporaryDirectory() as name:
        sqlite = run_event_loop(on_sqlite(Path(name), endpoints, laps))
    memory = run_event_loop(in_memory(endpoints, laps))
    return {
        **figures("sqlite_ceiling", sqlite.ceiling),
        **figures("sqlite", sqlite.tuned, sqlite.ceiling),
        **figures("sqlite_default", sqlite.default, sqlite.ceiling),
        "sqlite_default_of_tuned": round(ratios(sqlite.default, sqlite.tuned).per_second, 3),
        **figures("memory", memory.tuned),
        **figures("memory_default", memory.default),
        "memory_default_of_tuned": round(ratios(memory.default, memory.tuned).per_second, 3),
    }


def figures(name: str, laps: list[Lap], ceiling: list[Lap] | None = None) -> dict[str, float]:
    """Speed and cost, and how near both come to the ceiling."""
    rate = best(laps)
    found = {f"{name}_per_second": round(rate.per_second), f"{name}_cpu_us": round(rate.cpu_us, 1)}
    if ceiling is None:
        return found
    ratio = ratios(laps, ceiling)
    return {
        **found,
        f"{name}_ratio": round(ratio.per_second, 3),
        f"{name}_cpu_ratio": round(ratio.cpu_us, 3),
    }


def main() -> None:
    """Print the figures, for people or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--endpoints", type=int, default=5_000)
    parser.add_argument("--laps", type=int, default=12)
    options = parser.parse_args()
    tune_garbage_collection()
    results = measure(options.endpoints, options.laps)
    print(
        json.dumps(results)
        if options.json
        else "\n".join(f"{key:>28} {value:>12,}" for key, value in results.items())
    )


if __name__ == "__main__":
    main()
