"""Runs are forgotten by age and by number, and never one that somebody wants."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.postgres import Databases

from cadenza.adapters.stores.postgres.partitions import drop_runs, ensure_partitions
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.runs import delete_runs
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.testing import FakeIds
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.harness import MINUTE, Bench

DAY = 24 * 60 * MINUTE
Place = tuple[Any, Bench]


@pytest.fixture
async def sqlite(tmp_path: Path) -> AsyncIterator[Place]:
    await migrate(f"sqlite:///{tmp_path / 'cadenza.db'}")
    file = SqliteFile(tmp_path / "cadenza.db")
    store = SqliteStore(file, FakeIds())
    yield file, Bench(store)
    await store.close()


@pytest.fixture
async def postgres(request: pytest.FixtureRequest) -> AsyncIterator[Place]:
    databases: Databases = request.getfixturevalue("newest_databases")
    url = await asyncio.to_thread(databases.new)
    pool = PostgresPool(url)
    store = PostgresStore(pool, FakeIds())
    yield pool, Bench(store)
    await store.close()
    await asyncio.to_thread(databases.drop, url)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest) -> Place:
    place: Place = request.getfixturevalue(request.param)
    return place


async def retain(database: SqliteFile | PostgresPool, **limits: Any) -> int:
    """Delete or drop runs, as each database does."""
    if isinstance(database, SqliteFile):
        return await delete_runs(database, **limits)
    return await drop_runs(database, **limits)


async def run_daily(bench: Bench, days: int, database: Any = None) -> Endpoint:
    """Run an endpoint twice a day."""
    endpoint = await bench.add()
    for half in range(2 * days):
        if database is not None and half % 2 == 0:
            await ensure_partitions(database, bench.clock.now())
        await bench.run_once()
        bench.pass_ms(DAY / 2)
    return endpoint


async def finished(bench: Bench, endpoint: Endpoint) -> list[datetime]:
    return [run.finished_at for run in await bench.runs(endpoint) if run.finished_at is not None]


async def test_runs_older_than_the_age_go_and_younger_ones_stay(place: Place) -> None:
    database, bench = place
    endpoint = await run_daily(bench, 10, database if isinstance(database, PostgresPool) else None)
    gone = await retain(database, now=bench.clock.now(), max_age=timedelta(days=3))
    left = await finished(bench, endpoint)
    assert (gone, len(left)) == (14, 6)
    assert min(left) >= bench.clock.now() - timedelta(days=3)


async def test_at_least_so_many_of_the_newest_stay(place: Place) -> None:
    database, bench = place
    partitioned = isinstance(database, PostgresPool)
    endpoint = await run_daily(bench, 10, database if partitioned else None)
    everything = await finished(bench, endpoint)
    await retain(database, now=bench.clock.now(), max_count=5)
    left = await finished(bench, endpoint)
    assert left == everything[-6 if partitioned else -5 :]


async def test_with_nothing_to_forget_nothing_goes(place: Place) -> None:
    database, bench = place
    endpoint = await run_daily(bench, 2)
    assert await retain(database, now=bench.clock.now(), max_age=timedelta(days=30), max_count=100) == 0
    assert await retain(database, now=bench.clock.now()) == 0
    assert len(await finished(bench, endpoint)) == 4


async def test_many_rows_go_in_small_steps(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without partitions, everything lies in the default one, and is deleted there."""
    monkeypatch.setattr("cadenza.adapters.stores.sqlite.runs.BATCH", 3)
    monkeypatch.setattr("cadenza.adapters.stores.postgres.partitions.BATCH", 3)
    database, bench = place
    endpoint = await run_daily(bench, 10)
    assert await retain(database, now=bench.clock.now(), max_age=timedelta(days=5)) == 10
    assert await retain(database, now=bench.clock.now(), max_count=4) == 6
    assert len(await finished(bench, endpoint)) == 4


async def test_partitions_are_made_ahead_once_and_take_what_ran_before_them(postgres: Place) -> None:
    pool, bench = postgres
    endpoint = await run_daily(bench, 2)
    made = await ensure_partitions(pool, NEW_YEAR)
    assert (made[0], len(made)) == ("runs_20250101", 8)
    assert await ensure_partitions(pool, NEW_YEAR) == []
    counts = await pool.ask("SELECT tableoid::regclass::text, count(*) FROM runs GROUP BY 1 ORDER BY 1")
    assert [tuple(row) for row in counts] == [("runs_20250101", 2), ("runs_20250102", 2)]
    assert len(await finished(bench, endpoint)) == 4
