"""How late runs start: at a steady rate, and after a nudge on a sleeping worker; on SQLite and PostgreSQL.

On PostgreSQL the smallest statements keep the same rate beside it, and the rate is then raised until the
worker does not keep up with it.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from statistics import median, quantiles

import asyncpg
from benchmarks.fill_database import fill_postgres
from benchmarks.postgres_ceiling import PostgresCeiling
from benchmarks.servers import a_server, new_database
from benchmarks.workers import CLOCK, CRON, worker_loop
from tests.postgres import Cluster

from cadenza import Endpoint, Every
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.domain.validation import milliseconds
from cadenza.engine.steering import Steering, call_tool
from cadenza.ports.store import Store
from cadenza.roots.wiring.process import tune_garbage_collection

DONE = Outcome(RunStatus.SUCCESS)
NUDGES = 40
RATES = (2_000, 3_000, 4_000, 5_000, 6_000, 8_000, 10_000)
KEPT_UP = 0.95
"""A late run moves the next one, so who does not keep up does not fall ever further behind, but runs less."""
SECOND = timedelta(seconds=1)
LEAD = timedelta(seconds=10)
"""Until then, all endpoints must be kept."""
GOALS = {"p50_ms": 5, "p99_ms": 50, "nudge_ms": 100, "highest_rate": 5_000}


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
    loop = worker_loop(store, stopwatch, claim_ahead_ms=500)
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
    await store.endpoints.add(endpoint)
    return endpoint


async def steadily(store: Store, per_second: int, seconds: float) -> dict[str, float]:
    """So many due a second, spread over it by chance."""
    chance, stopwatch = Random(1), Stopwatch()
    start = CLOCK.now() + LEAD
    moments = [start + SECOND * chance.random() for _ in range(per_second)]
    await asyncio.gather(*(add(store, number, moment, 1_000) for number, moment in enumerate(moments)))
    assert CLOCK.now() < start, "the machine is too busy to get ready in time"
    async with working(store, stopwatch):
        await asyncio.sleep((start - CLOCK.now()).total_seconds() + seconds)
    return summary(stopwatch.late_ms)


def summary(late: list[float]) -> dict[str, float]:
    """The figures of a lap."""
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
    steering = Steering(store=store.endpoints, clock=CLOCK, cron=CRON)
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


async def on_postgres(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Both measurements on a server of our own, with its default durability, and then the ramp."""
    with a_server() as cluster:
        results = {}
        for name in ("nudge", "steady"):
            async with a_store(await new_database(cluster, name)) as store:
                results[name] = await (
                    nudged(store) if name == "nudge" else steadily(store, options.rate, options.seconds)
                )
        url = await new_database(cluster, "ceiling")
        results["ceiling"] = await ceiling_at_rate(url, options.rate, options.seconds)
        return {**results, "ramp": await ramp(cluster, options.ramp, options.seconds)}


async def ceiling_at_rate(url: str, rate: int, seconds: float) -> dict[str, float]:
    """The same by the smallest statements: what is due is claimed, started and settled, and then the next."""
    connection, late = await asyncpg.connect(url), list[float]()
    ceiling, start = PostgresCeiling(connection, rate), CLOCK.now() + SECOND
    await ceiling.fill(rate, start, SECOND / rate)
    due = {f"endpoint-{10_000_000 + n}": start + n * (SECOND / rate) for n in range(1, rate + 1)}
    while (now := CLOCK.now()) < start + seconds * SECOND:
        claimed = await ceiling.claim(now)
        began = CLOCK.now()
        late += [(began - due[id_]) / milliseconds(1) for id_ in claimed]
        due |= dict.fromkeys(claimed, began + SECOND)
        await ceiling.settle(began, [due[id_] for id_ in claimed])
        await asyncio.sleep(0.001)
    await connection.close()
    return summary(late)


@asynccontextmanager
async def a_store(url: str) -> AsyncIterator[PostgresStore]:
    """A store on a database."""
    store = PostgresStore(PostgresPool(url), TimeOrderedIds())
    try:
        yield store
    finally:
        await store.close()


async def ramp(cluster: Cluster, rates: Sequence[int], seconds: float) -> dict[str, float]:
    """Raise the rate until the worker does not keep up."""
    results: dict[str, float] = {"highest_rate": 0}
    for rate in rates:
        url = await new_database(cluster, f"rate_{rate}")
        late = await at_rate(url, rate, seconds)
        runs, _, p50_ms, p99_ms = summary(late).values()
        results |= {f"{rate}_runs_per_s": round(runs / seconds), f"{rate}_p50_ms": p50_ms}
        results |= {f"{rate}_p99_ms": p99_ms}
        if runs < KEPT_UP * rate * seconds:
            break
        results["highest_rate"] = rate
    return results


async def at_rate(url: str, rate: int, seconds: float) -> list[float]:
    """How late the runs of the last seconds were, when it had run for two."""
    stopwatch, start = Stopwatch(), CLOCK.now() + 2 * SECOND
    await fill_postgres(url, rate, due_at=start, every_ms=1_000, apart=SECOND / rate)
    async with a_store(url) as store, working(store, stopwatch):
        await asyncio.sleep((start + 2 * SECOND - CLOCK.now()).total_seconds())
        stopwatch.late_ms.clear()
        await asyncio.sleep(seconds)
        return stopwatch.late_ms.copy()


def main() -> None:
    """Print the figures, for people or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rate", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--ramp", type=int, nargs="*", default=RATES, help="rates to try, in rising order")
    options = parser.parse_args()
    tune_garbage_collection()
    results: dict[str, object] = {
        "sqlite": asyncio.run(on_sqlite(options.rate, options.seconds)),
        "postgres": asyncio.run(on_postgres(options)),
        "goals": GOALS,
    }
    print(json.dumps(results) if options.json else json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
