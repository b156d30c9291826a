"""How late runs start: at a steady rate, and after a nudge on a sleeping worker; on SQLite and PostgreSQL."""

import argparse
import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from random import Random
from statistics import median, quantiles

from benchmarks.workers import CLOCK, CRON, LOG, a_worker
from tests.postgres import Cluster, wheel_programs

from cadenza import Endpoint, Every
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.sql.migrate import migrate
from cadenza.adapters.sql.partitions import ensure_partitions
from cadenza.adapters.sql.postgres.pool import PostgresPool
from cadenza.adapters.sql.postgres.store import PostgresStore
from cadenza.adapters.sql.sqlite.file import SqliteFile
from cadenza.adapters.sql.sqlite.store import SqliteStore
from cadenza.domain.checks import milliseconds
from cadenza.domain.run import Claim, Outcome, RunStatus
from cadenza.engine.steering import Steering, call_tool
from cadenza.ports.store import Store

DONE = Outcome(RunStatus.SUCCESS)
NUDGES = 40


class Stopwatch:
    """A dispatcher that notes when it was asked."""

    def __init__(self) -> None:
        self.late_ms: list[float] = []
        self.ran = asyncio.Event()

    async def execute(self, claim: Claim) -> Outcome:
        """Note how long after its moment it runs."""
        self.late_ms.append((CLOCK.now() - claim.due_at) / milliseconds(1))
        self.ran.set()
        return DONE


@asynccontextmanager
async def working(store: Store, stopwatch: Stopwatch) -> AsyncIterator[None]:
    """A worker that runs meanwhile, set up as the product sets it up."""
    loop = a_worker(store, stopwatch, within_ms=500)
    running = asyncio.create_task(loop.run())
    try:
        yield
    finally:
        loop.stop()
        await running


async def add(store: Store, number: int, first: datetime, interval_ms: int) -> Endpoint:
    """Keep an endpoint."""
    name = f"endpoint-{number:05}"
    endpoint = Endpoint(id=name, name=name, baseline=Every(interval_ms), next_run_at=first)
    await store.add(endpoint)
    return endpoint


async def steadily(store: Store, per_second: int, seconds: float) -> dict[str, float]:
    """So many due a second, spread over it by chance."""
    chance, stopwatch = Random(1), Stopwatch()
    start = CLOCK.now() + milliseconds(5_000)
    for number in range(per_second):
        await add(store, number, start + milliseconds(1) * (chance.random() * 1_000), 1_000)
    async with working(store, stopwatch):
        await asyncio.sleep((start - CLOCK.now()).total_seconds() + seconds)
    late = stopwatch.late_ms
    return {
        "runs": len(late),
        "early": sum(one < 0 for one in late),
        "p50_ms": round(median(late), 2),
        "p99_ms": round(quantiles(late, n=100)[98], 2),
    }


async def nudged(store: Store) -> dict[str, float]:
    """From the call of a tool to the start of the run, on a worker that sleeps."""
    stopwatch, took = Stopwatch(), []
    hour = 3_600_000
    endpoints = [await add(store, number, CLOCK.now() + milliseconds(hour), hour) for number in range(NUDGES)]
    steering = Steering(store=store, clock=CLOCK, cron=CRON, log=LOG)
    async with working(store, stopwatch):
        await asyncio.sleep(1)
        for endpoint in endpoints:
            stopwatch.ran.clear()
            began = CLOCK.now()
            tools = steering.tools(endpoint.key, origin="benchmark")
            await call_tool(tools, "propose_next_time", {"nextRunInMs": 0})
            await stopwatch.ran.wait()
            took.append((CLOCK.now() - began) / milliseconds(1))
            await asyncio.sleep(0.05)
    return {"median_ms": round(median(took), 2), "worst_ms": round(max(took), 2)}


async def on_sqlite(rate: int, seconds: float) -> dict[str, dict[str, float]]:
    """Both measurements on files."""
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("nudge", "steady"):
            path = Path(folder) / f"{name}.db"
            await migrate(f"sqlite:///{path}")
            store = SqliteStore(SqliteFile(path), TimeOrderedIds())
            results[name] = await (nudged(store) if name == "nudge" else steadily(store, rate, seconds))
            await store.close()
    return results


async def on_postgres(rate: int, seconds: float) -> dict[str, dict[str, float]]:
    """Both measurements on a server of our own, with its default durability."""
    cluster, results = Cluster(wheel_programs(), options="-c shared_buffers=128MB"), {}
    try:
        await migrate(cluster.url)
        for name in ("nudge", "steady"):
            pool = PostgresPool(cluster.url)
            await ensure_partitions(pool, CLOCK.now())
            await pool.ask("TRUNCATE endpoints, endpoint_states, runs, leases, hints")
            store = PostgresStore(pool, TimeOrderedIds())
            results[name] = await (nudged(store) if name == "nudge" else steadily(store, rate, seconds))
            await store.close()
    finally:
        cluster.remove()
    return results


def main() -> None:
    """Print the figures, for people or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rate", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    results = {
        "sqlite": asyncio.run(on_sqlite(options.rate, options.seconds)),
        "postgres": asyncio.run(on_postgres(options.rate, options.seconds)),
    }
    print(json.dumps(results) if options.json else json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
