"""Full cycles per second: claim, run a no-op, record, plan the next; beside a hand-written ceiling.

Every figure is that of the best of several laps: the one that the machine's other work disturbed least.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple

from benchmarks.sqlite_ceiling import SqliteCeiling
from benchmarks.workers import BATCH, a_worker

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.memory import MemoryStore
from cadenza.adapters.sql.migrate import migrate
from cadenza.adapters.sql.sqlite.file import SqliteFile
from cadenza.adapters.sql.sqlite.store import SqliteStore
from cadenza.domain.baseline import Every
from cadenza.domain.endpoint import Endpoint
from cadenza.domain.run import Claim, Outcome, RunStatus
from cadenza.ports.store import Store
from cadenza.roots.worker import tune_memory

DONE = Outcome(RunStatus.SUCCESS)
LAP_SECONDS = 0.5


class Lap(NamedTuple):
    """What was done in which time."""

    cycles: int
    seconds: float
    cpu_seconds: float


class Pace(NamedTuple):
    """What the best laps reached."""

    per_second: float
    cpu_us: float
    """Microseconds of this process's CPU for a cycle."""


def best(laps: Iterable[Lap]) -> Pace:
    """The highest rate and the lowest cost of any lap in which something was done."""
    done = [lap for lap in laps if lap.cycles]
    return Pace(
        max(lap.cycles / lap.seconds for lap in done),
        min(lap.cpu_seconds / lap.cycles for lap in done) * 1e6,
    )


class Noop:
    """A dispatcher that only counts."""

    def __init__(self) -> None:
        self.count = 0

    async def execute(self, _: Claim) -> Outcome:
        """Nothing."""
        self.count += 1
        return DONE


async def product(store: Store, endpoints: int, laps: int) -> list[Lap]:
    """Let a worker run endpoints that are always due."""
    clock, noop = SystemClock(), Noop()
    start = clock.now()
    for number in range(endpoints):
        name = f"endpoint-{number:06}"
        await store.add(Endpoint(id=name, name=name, baseline=Every(1), next_run_at=start))
    loop = a_worker(store, noop)
    running = asyncio.create_task(loop.run())
    await asyncio.sleep(LAP_SECONDS)
    timed = [await lap(noop) for _ in range(laps)]
    loop.stop()
    await running
    return timed


async def lap(noop: Noop) -> Lap:
    """What is done while nobody looks."""
    before, began, cpu = noop.count, perf_counter(), process_time()
    await asyncio.sleep(LAP_SECONDS)
    return Lap(noop.count - before, perf_counter() - began, process_time() - cpu)


def sqlite_ceiling(path: Path, endpoints: int, laps: int) -> list[Lap]:
    """The same without a scheduler."""
    ceiling = SqliteCeiling(path, endpoints=endpoints, batch=BATCH)
    timed = [ceiling_lap(ceiling) for _ in range(laps)]
    ceiling.close()
    return timed


def ceiling_lap(ceiling: SqliteCeiling) -> Lap:
    """As many batches as fit into a lap."""
    cycles, began, cpu = 0, perf_counter(), process_time()
    while perf_counter() - began < LAP_SECONDS:
        cycles += ceiling.cycle()
    return Lap(cycles, perf_counter() - began, process_time() - cpu)


async def in_memory(endpoints: int, laps: int) -> list[Lap]:
    """The engine without a database."""
    return await product(MemoryStore(TimeOrderedIds()), endpoints, laps)


async def on_sqlite(folder: Path, endpoints: int, laps: int) -> list[Lap]:
    """The product on a file."""
    path = folder / "cadenza.db"
    await migrate(f"sqlite:///{path}")
    store = SqliteStore(SqliteFile(path), TimeOrderedIds())
    try:
        return await product(store, endpoints, laps)
    finally:
        await store.close()


def measure(endpoints: int, laps: int) -> dict[str, float]:
    """All laps, one after the other in one run, and the ratio that counts."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        before = sqlite_ceiling(folder / "before.db", endpoints, laps // 2)
        sqlite = best(asyncio.run(on_sqlite(folder, endpoints, laps)))
        after = sqlite_ceiling(folder / "after.db", endpoints, laps // 2)
    memory = best(asyncio.run(in_memory(endpoints, laps)))
    ceiling = best([*before, *after])
    return {
        "sqlite_ceiling_per_second": round(ceiling.per_second),
        "sqlite_ceiling_cpu_us": round(ceiling.cpu_us, 1),
        "sqlite_per_second": round(sqlite.per_second),
        "sqlite_cpu_us": round(sqlite.cpu_us, 1),
        "sqlite_ratio": round(sqlite.per_second / ceiling.per_second, 3),
        "sqlite_cpu_ratio": round(ceiling.cpu_us / sqlite.cpu_us, 3),
        "memory_per_second": round(memory.per_second),
        "memory_cpu_us": round(memory.cpu_us, 1),
    }


def main() -> None:
    """Print the figures, for people or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--endpoints", type=int, default=5_000)
    parser.add_argument("--laps", type=int, default=12)
    options = parser.parse_args()
    tune_memory()
    results = measure(options.endpoints, options.laps)
    print(
        json.dumps(results)
        if options.json
        else "\n".join(f"{key:>28} {value:>12,}" for key, value in results.items())
    )


if __name__ == "__main__":
    main()
