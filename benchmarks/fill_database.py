"""Fills a database with many endpoints quickly: the store adds one, SQL copies it."""

import sqlite3
from datetime import datetime, timedelta
from pathlib import Path

from cadenza import Endpoint, Every
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.postgres.pool import Connection, PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.adapters.stores.sql.rows import STATE_COLUMNS, to_micros
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.scheduling.target import CallableTarget
from cadenza.ports.store import Store

NOOP = "noop"
FIRST = "endpoint-template"
SAME = [column for column in STATE_COLUMNS if column not in ("claimable_at", "next_run_at")]
OWNER_COLUMNS = "job_id, name, description, definition"
ID = "'endpoint-' || (10000000 + n)"
NUMBERS = "WITH RECURSIVE c (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM c WHERE n < ?1) SELECT n FROM c"
SERIES = {"postgres": "generate_series(1, $1::int) AS n", "sqlite": f"({NUMBERS})"}
MOMENT = {"postgres": "$3::timestamptz + n * $4::interval", "sqlite": "?3 + n * ?4"}
TENANT = {"postgres": "'tenant-' || n % $2::int", "sqlite": "'tenant-' || n % ?2"}
TIDY = ("DELETE FROM endpoints WHERE id = '{0}'", "DELETE FROM endpoint_states WHERE endpoint_id = '{0}'")


def copies(dialect: str) -> tuple[str, str]:
    """Statements that copy the first endpoint: how often, over how many tenants, from when, how far apart."""
    tenant, moment, series = TENANT[dialect], MOMENT[dialect], SERIES[dialect]
    definitions = (
        f"INSERT INTO endpoints (tenant_id, id, {OWNER_COLUMNS}) SELECT {tenant}, {ID}, {OWNER_COLUMNS}"
        f" FROM endpoints, {series} WHERE id = '{FIRST}'"
    )
    states = (
        "INSERT INTO endpoint_states"
        f" (tenant_id, endpoint_id, rank, version, claimable_at, next_run_at, {', '.join(SAME)})"
        f"{' OVERRIDING SYSTEM VALUE' if dialect == 'postgres' else ''}"
        f" SELECT {tenant}, {ID}, n, version, {moment}, {moment}, {', '.join(SAME)}"
        f" FROM endpoint_states, {series} WHERE endpoint_id = '{FIRST}'"
    )
    return definitions, states


async def add_first(store: Store, due_at: datetime, every_ms: int) -> None:
    """The endpoint that is copied: a function that does nothing."""
    target = CallableTarget(NOOP)
    await store.endpoints.add(
        Endpoint(id=FIRST, name="endpoint", target=target, baseline=Every(every_ms), next_run_at=due_at)
    )


async def fill_postgres(
    url: str,
    count: int,
    *,
    due_at: datetime,
    every_ms: int = 1,
    apart: timedelta = timedelta(0),
    tenants: int = 1,
) -> None:
    """Add so many endpoints, the first due at a moment and the others each a little later."""
    pool = PostgresPool(url)
    await add_first(PostgresStore(pool, TimeOrderedIds()), due_at, every_ms)

    async def work(connection: Connection) -> None:
        definitions, states = copies("postgres")
        await connection.execute(definitions, count, tenants)
        await connection.execute(states, count, tenants, due_at, apart)
        for statement in TIDY:
            await connection.execute(statement.format(FIRST))

    await pool.write(work)
    await pool.ask("VACUUM ANALYZE")
    await pool.close()


async def fill_sqlite(
    path: Path, count: int, *, due_at: datetime, every_ms: int = 1, apart: timedelta = timedelta(0)
) -> None:
    """The same in a file."""
    file = SqliteFile(path)
    await add_first(SqliteStore(file, TimeOrderedIds()), due_at, every_ms)

    def work(connection: sqlite3.Connection) -> None:
        definitions, states = copies("sqlite")
        connection.execute(definitions, (count, 1))
        connection.execute(states, (count, 1, to_micros(due_at), apart // timedelta(microseconds=1)))
        for statement in TIDY:
            connection.execute(statement.format(FIRST))

    await file.write(work)
    await file.close()
