"""What a tick of the daily runner costs among a million users, and whether verdicts make it late."""

import argparse
import asyncio
import json
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from os import getloadavg
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, process_time
from typing import Any, NamedTuple
from zoneinfo import available_timezones

import asyncpg
from benchmarks.servers import Meter, a_server, new_database
from tests.postgres import Cluster

from cadenza.adapters.clock import SystemClock, SystemStopwatch
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.null import NoLog, NoTelemetry
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.adapters.stores.sql.daily.rows import USER, write_user
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.settle import in_micros
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.daily.user import DONE, DailyRunResult, DailyUser
from cadenza.domain.daily.window import WINDOW
from cadenza.domain.daily.zones import UTC_NAME
from cadenza.domain.local_time import zone_named
from cadenza.engine.daily.programmes import OneTarget
from cadenza.engine.daily.runner import DailyRunner, DailySettings
from cadenza.ports.daily import DailyStore, DailyTargetRunner, ProgrammeStore
from cadenza.ports.telemetry import FINALIZE, TICK, Measurements, Metadata, Telemetry

BUDGET_MS = 300
"""The seed's own, for 95 % of ticks."""
TICK_MS = 1_000
"""Sixty times as often as in earnest, so that verdicts have every chance to be in the way."""
JOB_S = 0.05
FILLED_AT_ONCE = 20_000
TENANT = "default"

Fill = Callable[[Sequence[tuple[Any, ...]]], Awaitable[None]]


class BenchmarkDatabase(NamedTuple):
    """A database, a way to fill it, and its server, if it has one."""

    store: DailyStore
    programmes: ProgrammeStore
    fill: Fill
    tidy: Callable[[], Awaitable[None]]
    cluster: Cluster | None = None
    zones: Sequence[str] = (UTC_NAME,)


class NeverEndingTarget:
    """A target whose runs do not end."""

    async def run(self, user_id: str, service_date: date, *, tenant_id: str) -> DailyRunResult:  # noqa: ARG002
        """Wait."""
        await asyncio.Event().wait()
        return DONE


class QuickTarget:
    """A target whose runs succeed soon."""

    async def run(self, user_id: str, service_date: date, *, tenant_id: str) -> DailyRunResult:  # noqa: ARG002
        """Wait a little."""
        await asyncio.sleep(JOB_S)
        return DONE


@dataclass
class TickRecorder:
    """Records ticks and counts verdicts."""

    wanted: int
    ticks: list[tuple[float, float]] = field(default_factory=list)
    """How long each took, and how late after a whole second it had begun."""
    finalized: int = 0
    done: asyncio.Event = field(default_factory=asyncio.Event)

    def emit(self, event: str, measurements: Measurements, metadata: Metadata) -> None:  # noqa: ARG002
        """Record one event."""
        if event == TICK:
            took = measurements["duration_ms"]
            began = datetime.now(UTC).timestamp() * 1_000 - took
            self.ticks.append((took, began % TICK_MS))
        elif event == FINALIZE:
            self.finalized += 1
            if self.finalized == self.wanted:
                self.done.set()


def users(
    first: int, count: int, cutoffs: tuple[datetime, datetime], zones: Sequence[str]
) -> Iterator[tuple[Any, ...]]:
    """So many users in zones, whose next cutoffs lie between two moments."""
    begin, end = cutoffs
    for number in range(first, first + count):
        cutoff = begin + (end - begin) * ((number * 7_919 % count) / count)
        cutoff = cutoff.replace(second=0, microsecond=0)
        timezone = zones[number % len(zones)]
        local = cutoff.astimezone(zone_named(timezone))
        yield write_user(
            DailyUser(
                tenant_id=TENANT,
                user_id=f"user-{number:07}",
                next_date=local.date(),
                due=local.time(),
                timezone=timezone,
                next_cutoff=cutoff,
                opens_at=cutoff - WINDOW,
                added_at=begin,
            )
        )


async def add(database: BenchmarkDatabase, first: int, count: int, cutoffs: tuple[datetime, datetime]) -> int:
    """Add users; how many there are then."""
    more = users(first, count, cutoffs, database.zones)
    while rows := list(islice(more, FILLED_AT_ONCE)):
        await database.fill(rows)
    await database.tidy()
    return first + count


def runner(
    database: BenchmarkDatabase, target_runner: DailyTargetRunner, telemetry: Telemetry, **settings: int
) -> DailyRunner:
    """A daily runner by the clock on the wall."""
    return DailyRunner(
        store=database.store,
        programmes=database.programmes,
        targets=OneTarget(target_runner),
        clock=SystemClock(),
        stopwatch=SystemStopwatch(),
        telemetry=telemetry,
        log=NoLog(),
        settings=DailySettings(tick_ms=TICK_MS, **settings),
    )


async def timed(step: Awaitable[None], cluster: Cluster | None) -> tuple[float, float]:
    """Milliseconds of one step, and of its CPU, with the server's."""
    if cluster is not None:
        meter = Meter(cluster)
        await meter.time(step)
        return meter.system_clock * 1_000, meter.cpu * 1_000
    began, spent = perf_counter(), process_time()
    await step
    return (perf_counter() - began) * 1_000, (process_time() - spent) * 1_000


async def ticking(database: BenchmarkDatabase, laps: int) -> dict[str, float]:
    """What ticks take while all who are in the window wait or run."""
    daily = runner(database, NeverEndingTarget(), NoTelemetry())
    system_clock: list[float] = []
    cpu: list[float] = []
    scanned = 0

    async def tick() -> None:
        nonlocal scanned
        scanned = (await daily.tick()).users_scanned

    for _ in range(laps):
        took, spent = await timed(tick(), database.cluster)
        system_clock.append(took)
        cpu.append(spent)
        daily.executor.start_ready()
    await daily.close()
    return {
        "users_scanned": scanned,
        "first_ms": round(system_clock[0], 1),
        **_percentiles(system_clock),
        "cpu_ms": round(median(cpu), 1),
        "cpu_p95_ms": _percentiles(cpu)["p95_ms"],
    }


async def writing(
    database: BenchmarkDatabase, wanted: int, target_runner: DailyTargetRunner
) -> dict[str, float]:
    """Verdicts by the thousands, while ticks come every second."""
    recorder = TickRecorder(wanted)
    daily = runner(database, target_runner, recorder, max_concurrency=100)
    began = perf_counter()
    parts = [asyncio.create_task(part()) for part in (daily.run_ticks, daily.execute, daily.finalize)]
    await recorder.done.wait()
    took = perf_counter() - began
    await asyncio.sleep(1.5)
    for part in parts:
        part.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.gather(*parts)
    await daily.close()
    late = [late for _, late in recorder.ticks[1:]]
    return {
        "verdicts": recorder.finalized,
        "verdicts_per_second": round(recorder.finalized / took),
        "ticks": len(recorder.ticks),
        **_percentiles([took for took, _ in recorder.ticks]),
        "latest_ms": round(max(late, default=0), 1),
    }


def _percentiles(took: list[float]) -> dict[str, float]:
    p95 = quantiles(took, n=20, method="inclusive")[-1] if len(took) > 1 else took[0]
    return {"median_ms": round(median(took), 1), "p95_ms": round(p95, 1), "worst_ms": round(max(took), 1)}


async def measure(
    database: BenchmarkDatabase, sizes: Sequence[int], window: int, laps: int
) -> dict[str, Any]:
    """Ticks as users become more, then with a full window, then while verdicts are written."""
    now = datetime.now(UTC)
    soon = (now + timedelta(minutes=25), now + timedelta(minutes=55))
    later = (now + timedelta(hours=3), now + timedelta(hours=24))
    some = window // 10
    there = await add(database, 0, some, soon)
    growth = {}
    for size in sizes:
        there = await add(database, there, size - there, later)
        growth[f"{size:,} users, {some:,} in the window"] = await ticking(database, laps)
    there = await add(database, there, window - some, soon)
    full = await ticking(database, laps)
    success = await writing(database, window, QuickTarget())
    past = (now - timedelta(minutes=2), now - timedelta(minutes=1))
    await add(database, there, window, past)
    cutoffs = await writing(database, window, NeverEndingTarget())
    return {"growth": growth, "full_window": full, "successes": success, "cutoffs": cutoffs}


@asynccontextmanager
async def on_postgres() -> AsyncIterator[BenchmarkDatabase]:
    """On a server of our own."""
    with a_server() as cluster:
        url = await new_database(cluster, "daily")
        connection = await asyncpg.connect(url)
        store = PostgresStore(PostgresPool(url), TimeOrderedIds())

        async def fill(rows: Sequence[tuple[Any, ...]]) -> None:
            await connection.copy_records_to_table("daily_users", records=rows, columns=USER)

        async def tidy() -> None:
            await connection.execute("VACUUM ANALYZE daily_users")

        yield BenchmarkDatabase(store.daily, store.programmes, fill, tidy, cluster)
        await connection.close()
        await store.close()


@asynccontextmanager
async def on_sqlite() -> AsyncIterator[BenchmarkDatabase]:
    """In a file."""
    statement = f"INSERT INTO daily_users ({', '.join(USER)}) VALUES ({', '.join('?' * len(USER))})"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "daily.db"
        await migrate(f"sqlite:///{path}")
        file = SqliteFile(path)
        store = SqliteStore(file, TimeOrderedIds())

        async def fill(rows: Sequence[tuple[Any, ...]]) -> None:
            def work(connection: sqlite3.Connection) -> None:
                connection.executemany(statement, [in_micros(row) for row in rows])

            await file.write(work)

        async def tidy() -> None:
            return

        yield BenchmarkDatabase(store.daily, store.programmes, fill, tidy)
        await store.close()


async def measured(kind: str, sizes: Sequence[int], options: argparse.Namespace) -> dict[str, Any]:
    """The figures of one database."""
    zones = (
        sorted(available_timezones() - {"localtime"})[: options.zones] if options.zones > 1 else [UTC_NAME]
    )
    async with {"sqlite": on_sqlite, "postgres": on_postgres}[kind]() as database:
        return await measure(database._replace(zones=zones), sizes, options.window, options.laps)


def main() -> None:
    """Print the figures, for people or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--window", type=int, default=20_000)
    parser.add_argument("--zones", type=int, default=300, help="in how many zones users are; 1 is UTC")
    parser.add_argument("--laps", type=int, default=30)
    parser.add_argument("--database", choices=("sqlite", "postgres"), action="append")
    options = parser.parse_args()
    sizes = [size for size in (10_000, 100_000, 1_000_000) if size < options.users] + [options.users]
    results = {
        database: asyncio.run(measured(database, sizes, options))
        for database in options.database or ("sqlite", "postgres")
    }
    if options.json:
        print(json.dumps({"budget_ms": BUDGET_MS, "load": getloadavg(), **results}))
        return
    for database, figures in results.items():
        for name, told in {**figures.pop("growth"), **figures}.items():
            print(
                f"{database:<9} {name:<42} {', '.join(f'{word} {value:,}' for word, value in told.items())}"
            )


if __name__ == "__main__":
    main()
