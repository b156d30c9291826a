"""What it costs to find nothing: a tick among ever more endpoints, and a worker that has nothing to do.

A tick is a claim that gets nothing and the look for the next moment, through the store. Beside it stands
the least there is: two statements of a plain driver that ask for nothing but that moment.
"""

import argparse
import asyncio
import json
import os
import sqlite3
import sys
import tempfile
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter

import asyncpg
from benchmarks.fill_database import fill_postgres, fill_sqlite
from benchmarks.servers import Meter, a_server, cpu_of, new_database, resident_mb
from benchmarks.workers import BATCH, CAN_RUN, CLOCK
from tests.postgres import Cluster

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.ports.store import Store

SIZES = (10_000, 100_000, 1_000_000)
OF_A_WORKER = 100_000
WARM_UP = 50
STARTED_S = 60
BUSY = 0.05
"""Seconds of CPU in a second that nobody needs who only waits."""
APART = timedelta(milliseconds=20)
SOONEST = (
    f"SELECT claimable_at FROM endpoint_states WHERE requirement = '{CAN_RUN[-1]}'"
    " AND claimable_at IS NOT NULL ORDER BY claimable_at LIMIT 1"
)
GOALS = {"postgres_p99_ms": 5, "sqlite_p99_ms": 1, "resident_mb": 120, "cpu_percent": 1}

Figures = dict[str, float]
Tick = Callable[[], Awaitable[None]]


def far() -> datetime:
    """A moment that this benchmark does not live to see."""
    return CLOCK.now() + timedelta(hours=1)


def tick_of(store: Store) -> Tick:
    """Look for work, and then for when to look again."""

    async def tick() -> None:
        now, ahead = CLOCK.now(), timedelta(milliseconds=500)
        lease_until = now + timedelta(minutes=1)
        assert not await store.endpoints.claim_due(
            now=now, within=ahead, lease_until=lease_until, limit=BATCH, can_run=CAN_RUN
        )
        assert await store.endpoints.next_due(CAN_RUN) is not None

    return tick


async def timed(tick: Tick, bare: Tick, count: int) -> Figures:
    """Milliseconds of a tick, and of the least; they take turns, so the machine's other work meets both."""
    took: dict[Tick, list[float]] = {tick: [], bare: []}
    for _ in range(count + WARM_UP):
        for one, spans in took.items():
            began = perf_counter()
            await one()
            spans.append((perf_counter() - began) * 1e3)
    ours, least = (spans[WARM_UP:] for spans in took.values())
    return {
        "p50_ms": round(median(ours), 3),
        "p99_ms": round(quantiles(ours, n=100)[98], 3),
        "bare_p50_ms": round(median(least), 3),
        "bare_p99_ms": round(quantiles(least, n=100)[98], 3),
    }


async def ticks_on_postgres(url: str, count: int) -> Figures:
    """Through the store, and by a plain driver."""
    store = PostgresStore(PostgresPool(url), TimeOrderedIds())
    connection = await asyncpg.connect(url)

    async def bare() -> None:
        for _ in range(2):
            await connection.fetchval(SOONEST)

    figures = await timed(tick_of(store), bare, count)
    await connection.close()
    await store.close()
    return figures


async def ticks_on_sqlite(path: Path, count: int) -> Figures:
    """Through the store, and by a plain driver, which blocks and so needs a thread."""
    store = SqliteStore(SqliteFile(path), TimeOrderedIds())
    file, loop = sqlite3.connect(path, check_same_thread=False), asyncio.get_running_loop()

    async def bare() -> None:
        for _ in range(2):
            await loop.run_in_executor(thread, lambda: file.execute(SOONEST).fetchone())

    with ThreadPoolExecutor(1) as thread:
        figures = await timed(tick_of(store), bare, count)
    file.close()
    await store.close()
    return figures


async def started(process: asyncio.subprocess.Process) -> None:
    """Come back when it has done what it does once."""
    for _ in range(STARTED_S):
        before = cpu_of(process.pid)
        await asyncio.sleep(1)
        assert process.returncode is None, "the worker did not start"
        if before > 0 and cpu_of(process.pid) - before < BUSY:
            return
    raise TimeoutError("the worker goes on starting")


async def watched(url: str, seconds: float, cluster: Cluster | None = None) -> Figures:
    """A worker of its own, as an operator starts it, while nothing is due."""
    with tempfile.TemporaryDirectory() as folder:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "cadenza", "worker",
            cwd=folder, env={**os.environ, "CADENZA_DATABASE_URL": url, "CADENZA_LOG_LEVEL": "warning"},
        )  # fmt: skip
        await started(process)
        meter, before = Meter(cluster, [process.pid]) if cluster else None, cpu_of(process.pid)
        waiting = asyncio.sleep(seconds)
        await (meter.time(waiting) if meter else waiting)
        spent = cpu_of(process.pid) - before
        figures = {
            "resident_mb": round(resident_mb(process.pid), 1),
            "cpu_percent": round(spent / seconds * 100, 2),
        }
        process.terminate()
        await process.wait()
    server = {"server_cpu_percent": round(meter.server_cpu / seconds * 100, 2)} if meter else {}
    return figures | server


def grown(by_size: dict[int, Figures]) -> dict[str, object]:
    """The figures of all sizes, and how much the largest costs beside the smallest."""
    smallest, largest = by_size[min(by_size)], by_size[max(by_size)]
    ticks = {f"{size}": figures for size, figures in by_size.items()}
    return {"ticks": ticks, "growth": round(largest["p50_ms"] / smallest["p50_ms"], 2)}


async def on_postgres(options: argparse.Namespace) -> dict[str, object]:
    """All of it on a server of our own."""
    by_size = {}
    worker: Figures = {}
    with a_server() as cluster:
        for size in options.sizes:
            url = await new_database(cluster, f"idle_{size}")
            await fill_postgres(url, size, due_at=far(), apart=APART)
            by_size[size] = await ticks_on_postgres(url, options.ticks)
            if size == options.of_a_worker:
                worker = await watched(url, options.seconds, cluster)
    return grown(by_size) | {"worker": worker}


async def on_sqlite(options: argparse.Namespace) -> dict[str, object]:
    """All of it on files."""
    by_size = {}
    worker: Figures = {}
    with tempfile.TemporaryDirectory() as folder:
        for size in options.sizes:
            path = Path(folder) / f"idle_{size}.db"
            await migrate(f"sqlite:///{path}")
            await fill_sqlite(path, size, due_at=far(), apart=APART)
            by_size[size] = await ticks_on_sqlite(path, options.ticks)
            if size == options.of_a_worker:
                worker = await watched(f"sqlite:///{path}", options.seconds)
    return grown(by_size) | {"worker": worker}


def main() -> None:
    """Print the figures, for people or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--ticks", type=int, default=2_000)
    parser.add_argument("--of-a-worker", type=int, default=OF_A_WORKER, help="endpoints of the idle worker")
    parser.add_argument("--seconds", type=float, default=20, help="how long the idle worker is watched")
    options = parser.parse_args()
    results: dict[str, object] = {
        "sqlite": asyncio.run(on_sqlite(options)),
        "postgres": asyncio.run(on_postgres(options)),
        "goals": GOALS,
    }
    print(json.dumps(results, indent=None if options.json else 2))


if __name__ == "__main__":
    main()
