"""Deleting old runs: by age, and by number."""

import sqlite3
from datetime import datetime, timedelta

from cadenza.adapters.stores.sql.rows import to_micros
from cadenza.adapters.stores.sqlite.database import SqliteFile

BATCH = 2_000
# Runs are added in the order in which they finish, so the first rows are the oldest.
DELETE_OLD = (
    "DELETE FROM runs WHERE rowid IN (SELECT rowid FROM runs ORDER BY rowid LIMIT ?) AND finished_at < ?"
)
DELETE_SURPLUS = (
    "DELETE FROM runs WHERE rowid IN (SELECT rowid FROM runs"
    " WHERE rowid <= (SELECT max(rowid) FROM runs) - ? ORDER BY rowid LIMIT ?)"
)


async def delete_runs(
    file: SqliteFile, *, now: datetime, max_age: timedelta | None = None, max_count: int | None = None
) -> int:
    """Delete runs that are older than `max_age`, and the oldest beyond `max_count`; how many it were.

    A batch of rows at a time, so that other work waits only briefly.
    """
    deleted = 0
    if max_age is not None:
        deleted += await _delete_in_batches(file, DELETE_OLD, BATCH, to_micros(now - max_age))
    if max_count is not None:
        deleted += await _delete_in_batches(file, DELETE_SURPLUS, max_count, BATCH)
    return deleted


async def _delete_in_batches(file: SqliteFile, statement: str, *values: int | None) -> int:
    """Repeat a statement, each time in a commit of its own, until it deletes nothing."""

    def work(connection: sqlite3.Connection) -> int:
        return connection.execute(statement, values).rowcount

    deleted = 0
    while rows := await file.write(work):
        deleted += rows
    return deleted
