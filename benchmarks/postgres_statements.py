"""What a claim and a settling cost on PostgreSQL, beside the smallest statements that do the same work.

The ceiling has the same commits (a lease is committed before the run, the run and the next moment after
it) and no scheduler: a narrow table, a run of few columns, and nothing read that is not needed.
"""

import argparse
import asyncio
import json
import resource
from collections.abc import Awaitable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from time import perf_counter

import asyncpg
from tests.postgres import Cluster, on_database, wheel_programs

from cadenza import Every
from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.sql.definition import write_definition
from cadenza.adapters.sql.migrate import migrate
from cadenza.adapters.sql.partitions import ensure_partitions
from cadenza.adapters.sql.postgres import statements as sql
from cadenza.adapters.sql.postgres.arrays import arrays
from cadenza.adapters.sql.postgres.pool import Connection, PostgresPool
from cadenza.adapters.sql.postgres.store import PostgresStore
from cadenza.adapters.sql.rows import write_state
from cadenza.domain.endpoint import Endpoint
from cadenza.domain.run import Claim, Completion, Outcome, RunStatus
from cadenza.domain.settle import settle

NOW = datetime(2026, 5, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
DONE = Outcome(RunStatus.SUCCESS)

CEILING_TABLES = """
    CREATE TABLE plain (id text COLLATE "C" PRIMARY KEY, next_at timestamptz, token text)
        WITH (fillfactor = 70);
    CREATE INDEX ON plain (next_at) WHERE next_at IS NOT NULL;
    CREATE TABLE plain_runs (id text, endpoint text, slot timestamptz, finished timestamptz, status text);
    CREATE INDEX ON plain_runs (endpoint, id)
"""
CEILING_CLAIM = """
    WITH due AS MATERIALIZED (
        SELECT id FROM plain WHERE next_at <= $1 ORDER BY next_at LIMIT $2 FOR UPDATE SKIP LOCKED
    )
    UPDATE plain p SET next_at = NULL, token = $3 FROM due WHERE p.id = due.id RETURNING p.id
"""
CEILING_SETTLE = """
    WITH done AS (
        UPDATE plain p SET next_at = g.next_at, token = NULL
        FROM unnest($1::text[], $2::timestamptz[], $3::text[]) AS g (id, next_at, run_id)
        WHERE p.id = g.id AND p.token = $4 RETURNING g.run_id, g.id
    )
    INSERT INTO plain_runs SELECT run_id, id, $5, $5, 'success' FROM done
"""


class Meter:
    """Wall time and CPU of this process and of the server's."""

    def __init__(self, server: Path) -> None:
        self._server = server
        self.wall, self.cpu = 0.0, 0.0

    async def time(self, step: Awaitable[None]) -> None:
        """Add what one step took."""
        began, spent = perf_counter(), self._spent()
        await step
        self.wall += perf_counter() - began
        self.cpu += self._spent() - spent

    def _spent(self) -> float:
        own = resource.getrusage(resource.RUSAGE_SELF)
        return own.ru_utime + own.ru_stime + sum(map(_cpu_of, _children(self._server)))


def _children(data: Path) -> list[int]:
    postmaster = int((data / "postmaster.pid").read_text().split()[0])
    return [
        int(child) for child in Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    ]


def _cpu_of(pid: int) -> float:
    """Seconds of a process, to the nanosecond where the kernel tells them."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    except OSError:
        return 0.0


def due(number: int) -> Endpoint:
    """One of many that are due at once."""
    name = f"endpoint-{number:07}"
    return Endpoint(id=name, name=name, baseline=Every(60_000), next_run_at=NOW)


async def fill(pool: PostgresPool, count: int) -> None:
    """Keep so many endpoints, quickly."""
    endpoints = [due(number) for number in range(count)]

    async def work(connection: Connection) -> None:
        records = [(*one.key, one.job_id, one.name, None, write_definition(one)) for one in endpoints]
        await connection.copy_records_to_table("endpoints", records=records)
        await connection.execute(sql.ADD_STATE, *arrays([(*one.key, *write_state(one)) for one in endpoints]))
        await connection.execute("ANALYZE endpoint_states; ANALYZE endpoints")

    await pool.write(work)


class StoreCycle:
    """Claims and settles through the store."""

    def __init__(self, url: str, batch: int) -> None:
        self._pool = PostgresPool(url)
        self._store = PostgresStore(self._pool, TimeOrderedIds())
        self._cron = CronsimCron()
        self._batch = batch
        self._claims: list[Claim] = []

    async def prepare(self, count: int) -> None:
        """Keep the endpoints."""
        await ensure_partitions(self._pool, NOW)
        await fill(self._pool, count)

    async def claim(self) -> None:
        """Lease a batch."""
        self._claims = await self._store.claim_due(
            now=NOW, within=timedelta(0), lease_until=NOW + MINUTE, limit=self._batch
        )
        assert len(self._claims) == self._batch

    async def settle(self) -> None:
        """Settle it, the rules included."""
        completions = [Completion(claim, DONE, NOW) for claim in self._claims]
        await self._store.finalize(completions, partial(settle, now=NOW, cron=self._cron))

    async def close(self) -> None:
        """Hang up."""
        await self._store.close()


class Ceiling:
    """The same by the smallest statements."""

    def __init__(self, url: str, batch: int) -> None:
        self._url = url
        self._batch = batch
        self._ids = TimeOrderedIds()
        self._token = ""
        self._claimed: list[str] = []

    async def prepare(self, count: int) -> None:
        """Keep the rows."""
        self._connection = await asyncpg.connect(self._url)
        await self._connection.execute(CEILING_TABLES)
        rows = [(f"endpoint-{number:07}", NOW, None) for number in range(count)]
        await self._connection.copy_records_to_table("plain", records=rows)
        await self._connection.execute("ANALYZE plain")

    async def claim(self) -> None:
        """Lease a batch."""
        self._token = self._ids.new()
        rows = await self._connection.fetch(CEILING_CLAIM, NOW, self._batch, self._token)
        self._claimed = [row[0] for row in rows]

    async def settle(self) -> None:
        """Record the runs and the next moments."""
        run_ids = [self._ids.new() for _ in self._claimed]
        moments = [NOW + MINUTE] * len(run_ids)
        await self._connection.execute(CEILING_SETTLE, self._claimed, moments, run_ids, self._token, NOW)

    async def close(self) -> None:
        """Hang up."""
        await self._connection.close()


async def lap(cycle: StoreCycle | Ceiling, data: Path, count: int, batch: int) -> dict[str, float]:
    """Claim and settle everything once; microseconds for one endpoint."""
    await cycle.prepare(count)
    claiming, settling = Meter(data), Meter(data)
    for _ in range(count // batch):
        await claiming.time(cycle.claim())
        await settling.time(cycle.settle())
    await cycle.close()
    return {
        f"{part}_{kind}": round(spent / count * 1e6, 1)
        for part, meter in (("claim", claiming), ("settle", settling))
        for kind, spent in (("us", meter.wall), ("cpu_us", meter.cpu))
    }


async def measure(count: int, batch: int, laps: int) -> dict[str, float]:
    """The best lap of each, which the machine's other work disturbed least."""
    cluster = Cluster(wheel_programs(), options="-c shared_buffers=128MB")
    best: dict[str, float] = {}
    try:
        for number in range(laps):
            url = await new_database(cluster, f"lap_{number}")
            for name, cycle in (("ceiling", Ceiling(url, batch)), ("store", StoreCycle(url, batch))):
                for key, spent in (await lap(cycle, cluster.folder / "data", count, batch)).items():
                    best[f"{name}_{key}"] = min(best.get(f"{name}_{key}", float("inf")), spent)
    finally:
        cluster.remove()
    return best | summed(best)


def summed(best: dict[str, float]) -> dict[str, float]:
    """Whole cycles, and how near the store comes to the ceiling."""
    cycles = {
        f"{name}_cycle_{kind}": round(best[f"{name}_claim_{kind}"] + best[f"{name}_settle_{kind}"], 1)
        for name in ("ceiling", "store")
        for kind in ("us", "cpu_us")
    }
    return {**cycles, "ratio": round(cycles["ceiling_cycle_us"] / cycles["store_cycle_us"], 2)}


async def new_database(cluster: Cluster, name: str) -> str:
    """A database with the schema in it."""
    connection = await asyncpg.connect(cluster.url)
    await connection.execute(f"CREATE DATABASE {name}")
    await connection.close()
    url = on_database(cluster.url, name)
    await migrate(url)
    return url


def main() -> None:
    """Print the figures, for people or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--batch", type=int, default=500)
    parser.add_argument("--laps", type=int, default=3)
    options = parser.parse_args()
    results = asyncio.run(measure(options.count, options.batch, options.laps))
    if options.json:
        print(json.dumps(results))
    else:
        print("\n".join(f"{name:>24} {value:>10,}" for name, value in results.items()))


if __name__ == "__main__":
    main()
