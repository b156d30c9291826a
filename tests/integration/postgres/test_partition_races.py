"""Partitions of runs are made while runs are written, by several processes, and nothing fails."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import asyncpg
import pytest
from tests.integration.postgres.postgres_fixtures import a_store, fill, many
from tests.postgres import Databases

from cadenza.adapters.stores.postgres.partitions import PARTITIONS_LOCK, ensure_partitions, make_partition
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.testing import FakeClock
from cadenza.testing.contracts.harness import Bench

END_OF_MONTH = datetime(2025, 1, 31, 23, 59, 59, tzinfo=UTC)
WHERE_RUNS_ARE = "SELECT tableoid::regclass::text, count(*) FROM runs GROUP BY 1 ORDER BY 1"


@pytest.fixture
async def url(newest_databases: Databases) -> AsyncIterator[str]:
    """A database with the schema."""
    url = await asyncio.to_thread(newest_databases.new)
    yield url
    await asyncio.to_thread(newest_databases.drop, url)


@asynccontextmanager
async def connected(url: str) -> "AsyncIterator[asyncpg.Connection[asyncpg.Record]]":
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


def a_bench(store: object, now: datetime = END_OF_MONTH) -> Bench:
    bench = Bench(store)  # type: ignore[arg-type]
    bench.clock = FakeClock(now)
    return bench


async def waits_for_a_lock(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Wait until another connection of this database waits for a table or an advisory lock."""
    async with asyncio.timeout(30):
        while not await connection.fetchval(  # noqa: ASYNC110 - a lock tells nobody that it is waited for
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND wait_event_type = 'Lock'"
        ):
            await asyncio.sleep(0.01)


async def test_a_run_that_is_written_while_its_partition_is_made_is_written(url: str) -> None:
    """The race by force: the row has been routed to the default partition when its own one appears."""
    async with a_store(url) as store, connected(url) as making, connected(url) as watching:
        bench = a_bench(store)
        await bench.add(next_run_at=END_OF_MONTH)
        claim = await bench.claim_one()
        async with making.transaction():
            assert await make_partition(making, END_OF_MONTH.date())
            ending = asyncio.create_task(bench.end(claim))
            await waits_for_a_lock(watching)
        (settled,) = await asyncio.wait_for(ending, 30)
        assert settled is not None
        assert [tuple(row) for row in await watching.fetch(WHERE_RUNS_ARE)] == [("runs_20250131", 1)]


async def test_writers_and_makers_of_partitions_meet_at_the_end_of_a_month(url: str) -> None:
    """Runs of both months lie in the default partition, and more come while several pools make partitions."""
    days = [END_OF_MONTH, datetime(2025, 2, 1, 0, 0, 1, tzinfo=UTC)]
    pools = [PostgresPool(url) for _ in range(4)]

    async def run_all(name: str) -> int:
        async with a_store(url, name=name) as store:
            benches = [a_bench(store, now) for now in days]
            await fill(store._pool, [one for now in days for one in many(15, now, f"{name}-{now:%d}")])
            ended = 0
            for bench in benches:
                while claims := await bench.claim(limit=5):
                    ended += len(await bench.end(*claims))
            return ended

    before = await run_all("before")
    writing = asyncio.gather(*(run_all(f"writer{number}") for number in range(4)))
    await asyncio.gather(*(ensure_partitions(pool, END_OF_MONTH) for pool in pools))
    ended = await writing
    rows = await pools[0].ask(WHERE_RUNS_ARE)
    for pool in pools:
        await pool.close()
    assert before == 30
    assert sum(ended) == 120
    assert {row[0] for row in rows} == {"runs_20250131", "runs_20250201"}
    assert sum(row[1] for row in rows) == 150


async def test_the_migration_makes_the_partitions_of_this_week(newest_databases: Databases) -> None:
    url = await asyncio.to_thread(newest_databases.empty)
    await asyncio.gather(*(migrate(url) for _ in range(3)))
    pool = PostgresPool(url)
    assert await ensure_partitions(pool, datetime.now(UTC)) == []
    await pool.close()
    await asyncio.to_thread(newest_databases.drop, url)


async def test_one_lock_is_held_by_whoever_makes_partitions(url: str) -> None:
    pool = PostgresPool(url)
    async with connected(url) as holding, connected(url) as watching:
        async with holding.transaction():
            await holding.execute(f"SELECT pg_advisory_xact_lock({PARTITIONS_LOCK})")
            making = asyncio.create_task(ensure_partitions(pool, END_OF_MONTH))
            await waits_for_a_lock(watching)
            assert await watching.fetchval("SELECT to_regclass('runs_20250131')") is None
        assert len(await making) == 8
    await pool.close()
