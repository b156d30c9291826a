"""How long a search takes among a million runs: by tenant, by endpoint, and for what is rare."""

import argparse
import asyncio
import json
import sqlite3
import tempfile
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import NamedTuple

import asyncpg
from benchmarks.servers import Meter, a_server, new_database
from tests.postgres import Cluster

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.postgres.partitions import ensure_partitions
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sql.rows import LISTED_RUN_COLUMNS, to_micros
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.planning.health import MOST_COUNTED
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.run import RunStatus
from cadenza.ports.catalog import Page
from cadenza.ports.scheduling import RunFilter
from cadenza.ports.store import Store

GOAL_MS = 100
"""For an answer; on a machine that does other things, for its CPU."""
DAYS = 7
TENANT, ENDPOINT = "tenant", "endpoint-7"
RARE = frozenset({RunStatus.TIMEOUT})
NOW = SystemClock().now()
BEGIN = NOW - timedelta(days=DAYS - 1)

VALUES = {
    "tenant_id": f"'{TENANT}'",
    "endpoint_id": "'endpoint-' || (n % {endpoints})",
    "job_id": "'job-' || (n % 10)",
    "attempt": "1",
    "source": "'baseline-interval'",
    "status": "CASE WHEN n % {rare} = 0 THEN 'timeout' ELSE 'success' END",
    "duration_ms": "n % 1000",
    "late_ms": "n % 10",
    "coalesced": "0",
    "verdict": "true",
    "error": "NULL",
    "reason": "NULL",
    "response": """'{{"visitors": 4711, "queue": 12, "state": "as it was"}}'""",
}
"""A run by its number; its moments and its id grow with it."""
SERIES = {
    "postgres": "generate_series(0, $1::int - 1) AS n",
    "sqlite": "(WITH RECURSIVE c (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c LIMIT ?1) SELECT n FROM c)",
}
MOMENT = {"postgres": "$2::timestamptz + n * $3::interval", "sqlite": "?2 + n * ?3"}
ID = {"postgres": "lpad(to_hex(n), 32, '0')", "sqlite": "printf('%032x', n)"}

Answer = tuple[int, str | None]
"""How many were found, and where to go on."""
Ask = Callable[[Store, str | None], Awaitable[Answer]]


def fill_runs_statement(dialect: str, endpoints: int, **others: str) -> str:
    """The statement that adds runs: how many, from when, how far apart; some of it may have other values."""
    values = dict.fromkeys(LISTED_RUN_COLUMNS, MOMENT[dialect]) | {"id": ID[dialect]}
    values |= {
        field: value.format(endpoints=endpoints, rare=100_000) for field, value in (VALUES | others).items()
    }
    response = "::json" if dialect == "postgres" else ""
    chosen = ", ".join(values[field] for field in LISTED_RUN_COLUMNS) + response
    return f"INSERT INTO runs ({', '.join(LISTED_RUN_COLUMNS)}) SELECT {chosen} FROM {SERIES[dialect]}"


def searching(wanted: RunFilter) -> Ask:
    """A search for a page of a hundred runs."""

    async def ask(store: Store, after: str | None) -> Answer:
        runs, after = await store.runs.find_runs(TENANT, wanted=wanted, page=Page(100, after))
        return len(runs), after

    return ask


async def counting(store: Store, _: str | None) -> Answer:
    """What an endpoint's health is read from."""
    ends = await store.runs.ended(EndpointKey(TENANT, ENDPOINT), since=BEGIN, limit=MOST_COUNTED)
    return len(ends), None


def requests() -> dict[str, Ask]:
    """What is asked, by name."""
    middle = BEGIN + (NOW - BEGIN) / 2
    never = frozenset({RunStatus.CANCELLED})
    return {
        "by tenant": searching(RunFilter()),
        "by endpoint": searching(RunFilter(ENDPOINT)),
        "by job": searching(RunFilter(job_id="job-3")),
        "with a rare status": searching(RunFilter(statuses=RARE)),
        "with a status that never occurs": searching(RunFilter(statuses=never)),
        "by endpoint, with a rare status": searching(RunFilter(ENDPOINT, statuses=RARE)),
        "within an hour, three days ago": searching(
            RunFilter(since=middle, until=middle + timedelta(hours=1))
        ),
        "the ends of an endpoint's runs": counting,
    }


class Took(NamedTuple):
    """What an answer took: milliseconds, and milliseconds of CPU, with the server's."""

    wall_ms: float
    cpu_ms: float


async def timed(step: Awaitable[None], cluster: Cluster | None) -> Took:
    """Wall time and CPU of one step."""
    if cluster is not None:
        meter = Meter(cluster)
        await meter.time(step)
        return Took(meter.system_clock * 1_000, meter.cpu * 1_000)
    began, cpu = perf_counter(), process_time()
    await step
    return Took((perf_counter() - began) * 1_000, (process_time() - cpu) * 1_000)


async def measure(store: Store, laps: int, cluster: Cluster | None = None) -> dict[str, dict[str, float]]:
    """What each answer takes, the very first included."""
    results = {}
    for name, ask in requests().items():
        found, took = 0, []
        for _ in range(laps):
            found, spent = await until_found(partial(ask, store), cluster)
            took += spent
        system_clock, cpu = [one.wall_ms for one in took], [one.cpu_ms for one in took]
        results[name] = {
            "found": found,
            "answers": len(took) // laps,
            "median_ms": round(median(system_clock), 1),
            "worst_ms": round(max(system_clock), 1),
            "median_cpu_ms": round(median(cpu), 1),
        }
    return results


async def until_found(
    ask: Callable[[str | None], Awaitable[Answer]], cluster: Cluster | None
) -> tuple[int, list[Took]]:
    """Ask on until something is found or the end is reached; how much, and what each answer took."""
    took: list[Took] = []
    answer: Answer = (0, None)

    async def step() -> None:
        nonlocal answer
        answer = await ask(answer[1])

    while True:
        took.append(await timed(step(), cluster))
        if answer[0] or answer[1] is None:
            return answer[0], took


async def on_postgres(runs: int, endpoints: int, laps: int) -> dict[str, dict[str, float]]:
    """On a server of our own, with a week of partitions."""
    with a_server() as cluster:
        url = await new_database(cluster, "listing")
        pool = PostgresPool(url)
        await ensure_partitions(pool, BEGIN)
        connection = await asyncpg.connect(url)
        await connection.execute(
            fill_runs_statement("postgres", endpoints), runs, BEGIN, (NOW - BEGIN) / runs
        )
        await connection.execute("VACUUM ANALYZE runs")
        await connection.close()
        store = PostgresStore(pool, TimeOrderedIds())
        results = await measure(store, laps, cluster)
        await store.close()
        return results


async def on_sqlite(runs: int, endpoints: int, laps: int) -> dict[str, dict[str, float]]:
    """In a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "listing.db"
        await migrate(f"sqlite:///{path}")
        file = SqliteFile(path)
        store = SqliteStore(file, TimeOrderedIds())
        apart = (NOW - BEGIN) / runs // timedelta(microseconds=1)

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(fill_runs_statement("sqlite", endpoints), (runs, to_micros(BEGIN), apart))

        await file.write(work)
        results = await measure(store, laps)
        await store.close()
        return results


def main() -> None:
    """Print the figures, for people or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--endpoints", type=int, default=50)
    parser.add_argument("--laps", type=int, default=9)
    options = parser.parse_args()
    sizes = (options.runs, options.endpoints, options.laps)
    results = {"sqlite": asyncio.run(on_sqlite(*sizes)), "postgres": asyncio.run(on_postgres(*sizes))}
    if options.json:
        print(json.dumps({"goal_ms": GOAL_MS, "runs": options.runs, **results}))
        return
    for database, asked in results.items():
        for name, figures in asked.items():
            took = f"median {figures['median_ms']:>6} ms, worst {figures['worst_ms']:>6} ms"
            took += f", CPU {figures['median_cpu_ms']:>5} ms"
            print(
                f"{database:<9} {name:<33} {figures['found']:>6,} in {figures['answers']:>3} answers, {took}"
            )


if __name__ == "__main__":
    main()
