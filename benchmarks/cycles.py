"""Full cycles per second: claim, run a no-op, record, plan the next; beside a hand-written ceiling."""

import argparse
import asyncio
import json
import sqlite3
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple

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


class Lap(NamedTuple):
    """What was done in which time."""

    cycles: int
    seconds: float
    cpu_seconds: float

    @property
    def per_second(self) -> float:
        """Cycles per second."""
        return self.cycles / self.seconds

    @property
    def cpu_us(self) -> float:
        """Microseconds of this process's CPU for a cycle."""
        return self.cpu_seconds / self.cycles * 1e6


class Noop:
    """A dispatcher that only counts."""

    def __init__(self) -> None:
        self.count = 0

    async def execute(self, _: Claim) -> Outcome:
        """Nothing."""
        self.count += 1
        return DONE


async def product(store: Store, endpoints: int, seconds: float) -> Lap:
    """Let a worker run endpoints that are always due."""
    clock, noop = SystemClock(), Noop()
    start = clock.now()
    for number in range(endpoints):
        name = f"endpoint-{number:06}"
        await store.add(Endpoint(id=name, name=name, baseline=Every(1), next_run_at=start))
    loop = a_worker(store, noop)
    running = asyncio.create_task(loop.run())
    await asyncio.sleep(0.5)
    before, began, cpu = noop.count, perf_counter(), process_time()
    await asyncio.sleep(seconds)
    lap = Lap(noop.count - before, perf_counter() - began, process_time() - cpu)
    loop.stop()
    await running
    return lap


def sqlite_ceiling(path: Path, endpoints: int, seconds: float) -> Lap:
    """The least that SQLite must do for a cycle, in batches, with nothing around it."""
    file = sqlite3.connect(path, isolation_level=None)
    file.executescript(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
        "CREATE TABLE e (id INTEGER PRIMARY KEY, next_run_at INTEGER, lease TEXT);"
        "CREATE INDEX due ON e (next_run_at) WHERE lease IS NULL;"
        "CREATE TABLE r (id INTEGER PRIMARY KEY, e INTEGER, at INTEGER, status TEXT, ms INTEGER);"
    )
    file.executemany("INSERT INTO e VALUES (?, 0, NULL)", [(number,) for number in range(endpoints)])
    cycles, began, cpu = 0, perf_counter(), process_time()
    while perf_counter() - began < seconds:
        now = int(perf_counter() * 1e6)
        file.execute("BEGIN IMMEDIATE")
        due = file.execute(
            "SELECT id FROM e WHERE next_run_at <= ? AND lease IS NULL ORDER BY next_run_at LIMIT ?",
            (now, BATCH),
        ).fetchall()
        file.executemany("UPDATE e SET lease = 'mine' WHERE id = ?", due)
        file.execute("COMMIT")
        file.execute("BEGIN IMMEDIATE")
        file.executemany(
            "UPDATE e SET lease = NULL, next_run_at = ? WHERE id = ?", [(now, *one) for one in due]
        )
        file.executemany(
            "INSERT INTO r (e, at, status, ms) VALUES (?, ?, 'success', 0)", [(*one, now) for one in due]
        )
        file.execute("COMMIT")
        cycles += len(due)
    lap = Lap(cycles, perf_counter() - began, process_time() - cpu)
    file.close()
    return lap


async def in_memory(endpoints: int, seconds: float) -> Lap:
    """The engine without a database."""
    return await product(MemoryStore(TimeOrderedIds()), endpoints, seconds)


async def on_sqlite(folder: Path, endpoints: int, seconds: float) -> Lap:
    """The product on a file."""
    path = folder / "cadenza.db"
    await migrate(f"sqlite:///{path}")
    store = SqliteStore(SqliteFile(path), TimeOrderedIds())
    try:
        return await product(store, endpoints, seconds)
    finally:
        await store.close()


def measure(endpoints: int, seconds: float) -> dict[str, float]:
    """All laps, one after the other in one run, and the ratio that counts."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ceiling = sqlite_ceiling(folder / "ceiling.db", endpoints, seconds)
        sqlite = asyncio.run(on_sqlite(folder, endpoints, seconds))
        again = sqlite_ceiling(folder / "again.db", endpoints, seconds)
    memory = asyncio.run(in_memory(endpoints, seconds))
    best = max(ceiling.per_second, again.per_second)
    return {
        "sqlite_ceiling_per_second": round(best),
        "sqlite_ceiling_cpu_us": round(min(ceiling.cpu_us, again.cpu_us), 1),
        "sqlite_per_second": round(sqlite.per_second),
        "sqlite_cpu_us": round(sqlite.cpu_us, 1),
        "sqlite_ratio": round(sqlite.per_second / best, 3),
        "memory_per_second": round(memory.per_second),
        "memory_cpu_us": round(memory.cpu_us, 1),
    }


def main() -> None:
    """Print the figures, for people or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--endpoints", type=int, default=5_000)
    parser.add_argument("--seconds", type=float, default=5)
    options = parser.parse_args()
    tune_memory()
    results = measure(options.endpoints, options.seconds)
    print(
        json.dumps(results)
        if options.json
        else "\n".join(f"{key:>28} {value:>12,}" for key, value in results.items())
    )


if __name__ == "__main__":
    main()
