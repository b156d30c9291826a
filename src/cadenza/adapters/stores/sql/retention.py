"""How long runs are kept: by age, and by number."""

import sqlite3
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from cadenza.adapters.stores.sql.partitions import drop_runs
from cadenza.adapters.stores.sql.rows import to_micros
from cadenza.adapters.stores.sqlite.database import SqliteFile

if TYPE_CHECKING:  # The driver is an extra; who uses SQLite does not need it.
    from cadenza.adapters.stores.postgres.pool import PostgresPool


BATCH = 2_000
# Runs are added in the order in which they finish, so the first rows are the oldest.
DELETE_OLD = (
    "DELETE FROM runs WHERE rowid IN (SELECT rowid FROM runs ORDER BY rowid LIMIT ?) AND finished_at < ?"
)
DELETE_SURPLUS = (
    "DELETE FROM runs WHERE rowid IN (SELECT rowid FROM runs"
    " WHERE rowid <= (SELECT max(rowid) FROM runs) - ? ORDER BY rowid LIMIT ?)"
)


async def retain(
    database: "SqliteFile | PostgresPool",
    *,
    now: datetime,
    max_age: timedelta | None = None,
    max_count: int | None = None,
) -> int:
    """Forget runs that are older than `max_age`, and the oldest beyond `max_count`; how many went.

    PostgreSQL drops whole days: it keeps at least what is asked for, and up to a
    day more. SQLite deletes a few rows at a time, so that nobody waits long.
    """
    if not isinstance(database, SqliteFile):
        return await drop_runs(database, now=now, max_age=max_age, max_count=max_count)
    gone = 0
    if max_age is not None:
        gone += await delete_in_steps(database, DELETE_OLD, BATCH, to_micros(now - max_age))
    if max_count is not None:
        gone += await delete_in_steps(database, DELETE_SURPLUS, max_count, BATCH)
    return gone


async def delete_in_steps(file: SqliteFile, statement: str, *arguments: int | None) -> int:
    """Delete in steps, each a commit of its own, until a step finds nothing."""

    def step(connection: sqlite3.Connection) -> int:
        return connection.execute(statement, arguments).rowcount

    gone = 0
    while deleted := await file.write(step):
        gone += deleted
    return gone
