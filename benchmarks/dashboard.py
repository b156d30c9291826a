"""What the dashboard's data takes at the server, with ten thousand endpoints and a million runs."""

import argparse
import asyncio
import json
import sqlite3
import tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import asyncpg
from benchmarks import dashboard_data as data
from benchmarks.dashboard_browser import measure_in_chromium
from benchmarks.dashboard_requests import REQUESTS, about_schedule
from benchmarks.listing import BEGIN, GOAL_MS, NOW, TENANT, fill_runs_statement, timed
from benchmarks.servers import a_server, new_database
from tests.postgres import Cluster
from tests.surfaces.api_in_process import ApiInProcess, agents

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.postgres.partitions import ensure_partitions
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sql.rows import to_micros
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.operations.application import Application
from cadenza.ports.catalog import BulkChange, BulkScope
from cadenza.ports.store import Store
from cadenza.testing.builders import an_endpoint

INTO_TALLIES = "INSERT INTO daily_tallies VALUES ({})"


SOME_BUSY = f"CASE WHEN n % 5 = 0 THEN '{data.BUSY}' ELSE 'endpoint-' || (n % {{endpoints}}) END"


FAILING_ONE_IN = 20


class Size(NamedTuple):
    """How much there is, and how often it is asked."""

    runs: int
    endpoints: int
    users: int
    laps: int


async def fill_store(store: Store, endpoints: int) -> None:
    """So many endpoints, due within the next half hour."""
    due = [
        an_endpoint(
            f"endpoint-{n}",
            tenant_id=TENANT,
            baseline=Every(60_000 + n * 100),
            next_run_at=NOW + timedelta(milliseconds=n * 1_800_000 // endpoints),
            failure_count=int(n % FAILING_ONE_IN == 0),
        )
        for n in range(endpoints)
    ]
    bulk_change = BulkChange(endpoints=[ChangedEndpoint(one) for one in due])
    await store.catalog.change_in_bulk(TENANT, BulkScope(), lambda _: bulk_change)


def application_of(store: Store) -> Application:
    """What answers, by the real clock."""
    dependencies = replace(
        ApiInProcess(store).application.dependencies, clock=SystemClock(), system_clock=None
    )
    return Application(replace(dependencies, conversations=agents(dependencies)))


async def add_test_data(store: Store, size: "Size", tally: data.Tally) -> str:
    """All that there is beside endpoints and runs; a schedule's id."""
    application = application_of(store)
    schedule = await data.add_users_and_agents(store, application)
    await data.add_analyses(store, application, size.endpoints)
    await data.add_alerts(store)
    await data.add_daily_days(store, size.users, tally)
    return schedule


async def measure(
    store: Store, laps: int, schedule: str, cluster: Cluster | None = None
) -> dict[str, dict[str, float]]:
    """What each answer takes as JSON, the very first included."""
    application = application_of(store)
    results = {}
    for name, (operation, arguments) in (REQUESTS | about_schedule(schedule)).items():
        sizes: list[int] = []

        async def step(operation: str = operation, arguments: Any = arguments, sizes: Any = sizes) -> None:
            view = await application.ask(operation, arguments, data.ADMIN)
            sizes.append(len(view.model_dump_json()))

        took = [await timed(step(), cluster) for _ in range(laps)]
        results[name] = {
            "bytes": sizes[-1],
            "first_ms": round(took[0].wall_ms, 1),
            "median_ms": round(median(one.wall_ms for one in took), 1),
            "median_cpu_ms": round(median(one.cpu_ms for one in took), 1),
        }
    return results


async def on_sqlite(folder: Path, size: Size) -> tuple[dict[str, dict[str, float]], str]:
    """In a file; the answers, and a key for whoever wants to look, too."""
    path = folder / "cadenza.db"
    await migrate(f"sqlite:///{path}")
    file = SqliteFile(path, synchronous="OFF")
    store = SqliteStore(file, TimeOrderedIds())
    await fill_store(store, size.endpoints)
    apart = (NOW - BEGIN) / size.runs // timedelta(microseconds=1)

    def work(connection: sqlite3.Connection) -> None:
        connection.execute(
            fill_runs_statement("sqlite", size.endpoints, endpoint_id=SOME_BUSY),
            (size.runs, to_micros(BEGIN), apart),
        )

    async def tally(rows: list[tuple[Any, ...]]) -> None:
        statement = INTO_TALLIES.format(", ".join("?" * 6))
        await file.write(lambda connection: connection.executemany(statement, rows))

    await file.write(work)
    schedule = await add_test_data(store, size, tally)
    results = await measure(store, size.laps, schedule)
    made = await application_of(store).ask("create_key", {"name": "look", "scopes": ["write"]}, data.ADMIN)
    await store.close()
    return results, made.model_dump()["key"]


async def on_postgres(size: Size) -> dict[str, dict[str, float]]:
    """On a server of our own, with a week of partitions."""
    with a_server() as cluster:
        url = await new_database(cluster, "dashboard")
        pool = PostgresPool(url)
        await ensure_partitions(pool, BEGIN)
        store = PostgresStore(pool, TimeOrderedIds())
        await fill_store(store, size.endpoints)
        connection = await asyncpg.connect(url)
        fill = fill_runs_statement("postgres", size.endpoints, endpoint_id=SOME_BUSY)
        await connection.execute(fill, size.runs, BEGIN, (NOW - BEGIN) / size.runs)

        async def tally(rows: list[tuple[Any, ...]]) -> None:
            await connection.executemany(INTO_TALLIES.format("$1, $2, $3, $4, $5, $6"), rows)

        schedule = await add_test_data(store, size, tally)
        await connection.execute("VACUUM ANALYZE")
        await connection.close()
        results = await measure(store, size.laps, schedule, cluster)
        await store.close()
        return results


def main() -> None:
    """Print the figures, for people or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--endpoints", type=int, default=10_000)
    parser.add_argument("--users", type=int, default=50_000, help="with a daily job")
    parser.add_argument("--laps", type=int, default=9)
    options = parser.parse_args()
    size = Size(options.runs, options.endpoints, options.users, options.laps)
    with tempfile.TemporaryDirectory() as folder:
        on_file, key = asyncio.run(on_sqlite(Path(folder), size))
        seen = measure_in_chromium(Path(folder), key, size.laps)
    results = {"sqlite": on_file, "postgres": asyncio.run(on_postgres(size))}
    if options.json:
        print(json.dumps({"goal_ms": GOAL_MS, **size._asdict(), **results, "chromium": seen}))
        return
    for database, asked in results.items():
        for name, figures in asked.items():
            took = f"median {figures['median_ms']:>6} ms, first {figures['first_ms']:>6} ms"
            took += f", CPU {figures['median_cpu_ms']:>5} ms"
            print(f"{database:<9} {name:<30} {figures['bytes']:>9,} bytes, {took}")
    for name, figures in seen.items():
        content = f"first content {figures['first_content_ms']:>5} ms, data {figures['data_ms']:>5} ms"
        print(f"chromium  {name:<30} {content}, slowest {figures['slowest_data_ms']:>5} ms")


if __name__ == "__main__":
    main()
