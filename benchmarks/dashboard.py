"""What the dashboard's data takes at the server, with a thousand endpoints and a million runs."""

import argparse
import asyncio
import json
import sqlite3
import tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any

import asyncpg
from benchmarks.listing import BEGIN, GOAL_MS, NOW, TENANT, filling, timed
from benchmarks.servers import a_server, new_database
from tests.postgres import Cluster
from tests.rest.house import House

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.sql.migrate import migrate
from cadenza.adapters.sql.partitions import ensure_partitions
from cadenza.adapters.sql.postgres.pool import PostgresPool
from cadenza.adapters.sql.postgres.store import PostgresStore
from cadenza.adapters.sql.rows import to_micros
from cadenza.adapters.sql.sqlite.file import SqliteFile
from cadenza.adapters.sql.sqlite.store import SqliteStore
from cadenza.domain.access import Caller, Scope
from cadenza.domain.baseline import Every
from cadenza.domain.steer import Amended
from cadenza.operations.office import Office
from cadenza.ports.catalog import Arrangement, Extent
from cadenza.ports.store import Store
from cadenza.testing.builders import an_endpoint

WHO = Caller(TENANT, frozenset({Scope.READ}), "benchmark")
MIDDLE = BEGIN + (NOW - BEGIN) / 2
ONE = {"endpoint_id": "endpoint-7"}
QUESTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "overview": ("get_overview", {}),
    "overview, five hours": ("get_overview", {"minutes": 300, "ahead_minutes": 60}),
    "endpoints, first page": ("list_rows", {}),
    "endpoints, later page": ("list_rows", {"cursor": "endpoint-5"}),
    "endpoints, by their ids": ("list_rows", {"endpoint_id": [f"endpoint-{n}" for n in range(100)]}),
    "timeline, last hour": ("get_timeline", ONE),
    "timeline, a day": ("get_timeline", ONE | {"since": NOW - timedelta(days=1), "until": NOW}),
    "timeline, three days ago": (
        "get_timeline",
        ONE | {"since": MIDDLE, "until": MIDDLE + timedelta(hours=6)},
    ),
}


async def furnish(store: Store, endpoints: int) -> None:
    """So many endpoints, due within the next half hour."""
    due = [
        an_endpoint(
            f"endpoint-{n}",
            tenant_id=TENANT,
            baseline=Every(60_000 + n * 100),
            next_run_at=NOW + timedelta(milliseconds=n * 1_800_000 // endpoints),
        )
        for n in range(endpoints)
    ]
    scene = Arrangement(endpoints=[Amended(one) for one in due])
    await store.arrange(TENANT, Extent(), lambda _: scene)


async def measure(store: Store, laps: int, cluster: Cluster | None = None) -> dict[str, dict[str, float]]:
    """What each answer takes as JSON, the very first included."""
    office = Office(replace(House(store).office.supplies, clock=SystemClock()))
    results = {}
    for name, (operation, arguments) in QUESTIONS.items():
        told: list[int] = []

        async def step(operation: str = operation, arguments: Any = arguments, told: Any = told) -> None:
            view = await office.ask(operation, arguments, WHO)
            told.append(len(view.model_dump_json()))

        took = [await timed(step(), cluster) for _ in range(laps)]
        results[name] = {
            "bytes": told[-1],
            "first_ms": round(took[0].wall_ms, 1),
            "median_ms": round(median(one.wall_ms for one in took), 1),
            "median_cpu_ms": round(median(one.cpu_ms for one in took), 1),
        }
    return results


async def on_sqlite(runs: int, endpoints: int, laps: int) -> dict[str, dict[str, float]]:
    """In a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "dashboard.db"
        await migrate(f"sqlite:///{path}")
        file = SqliteFile(path)
        store = SqliteStore(file, TimeOrderedIds())
        await furnish(store, endpoints)
        apart = (NOW - BEGIN) / runs // timedelta(microseconds=1)

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(filling("sqlite", endpoints), (runs, to_micros(BEGIN), apart))

        await file.write(work)
        results = await measure(store, laps)
        await store.close()
        return results


async def on_postgres(runs: int, endpoints: int, laps: int) -> dict[str, dict[str, float]]:
    """On a server of our own, with a week of partitions."""
    with a_server() as cluster:
        url = await new_database(cluster, "dashboard")
        pool = PostgresPool(url)
        await ensure_partitions(pool, BEGIN)
        store = PostgresStore(pool, TimeOrderedIds())
        await furnish(store, endpoints)
        connection = await asyncpg.connect(url)
        await connection.execute(filling("postgres", endpoints), runs, BEGIN, (NOW - BEGIN) / runs)
        await connection.execute("VACUUM ANALYZE")
        await connection.close()
        results = await measure(store, laps, cluster)
        await store.close()
        return results


def main() -> None:
    """Print the figures, for people or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--endpoints", type=int, default=1_000)
    parser.add_argument("--laps", type=int, default=9)
    options = parser.parse_args()
    sizes = (options.runs, options.endpoints, options.laps)
    results = {"sqlite": asyncio.run(on_sqlite(*sizes)), "postgres": asyncio.run(on_postgres(*sizes))}
    if options.json:
        print(json.dumps({"goal_ms": GOAL_MS, "runs": options.runs, **results}))
        return
    for database, asked in results.items():
        for name, figures in asked.items():
            took = f"median {figures['median_ms']:>6} ms, first {figures['first_ms']:>6} ms"
            took += f", CPU {figures['median_cpu_ms']:>5} ms"
            print(f"{database:<9} {name:<26} {figures['bytes']:>9,} bytes, {took}")


if __name__ == "__main__":
    main()
