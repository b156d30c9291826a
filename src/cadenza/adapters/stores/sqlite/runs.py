"""Runs of the past in a SQLite file: those of a span of time, and deleting old ones by age and by number."""

import sqlite3
from datetime import datetime, timedelta

from cadenza.adapters.stores.sql.monitoring.statistics import SqlStatistics
from cadenza.adapters.stores.sql.planning.analyses import WITHOUT_RESPONSE
from cadenza.adapters.stores.sql.rows import from_micros, read_run, to_micros
from cadenza.adapters.stores.sql.scheduling.endpoint_store import SqlRuns
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.dialect import SqliteDatabase
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.run import Run
from cadenza.ports.scheduling import Retention

DISORDER = 10 * 60 * 1_000_000
"""A run is added within so many microseconds of its end, give or take."""

FEW = 10_000
"""So many rows are read sooner than all that an index may have to pass over."""

# Rows are added about in the order in which runs end. Of few rows, each is read. Of many, an index
# names those of the endpoint, and passes over those of other times without reading them.
AMONG_FEW_ROWS, AMONG_MANY_ROWS = (
    f"SELECT {', '.join(WITHOUT_RESPONSE)} FROM runs WHERE {no_index}tenant_id = ?"
    f" AND {no_index}endpoint_id = ? AND rowid >= ? AND rowid <= ? AND finished_at >= ? AND finished_at < ?"
    f" ORDER BY {no_index}id DESC LIMIT ?"
    for no_index in ("+", "")
)
# Each for itself: asked for both at once, SQLite goes through them all.
ENDS = "SELECT coalesce((SELECT min(rowid) FROM runs), 0), coalesce((SELECT max(rowid) FROM runs), 0)"
FROM_ROW = "SELECT finished_at FROM runs WHERE rowid >= ? ORDER BY rowid LIMIT 1"
BATCH = 2_000
# Runs are added in the order in which they finish, so the first rows are the oldest.
DELETE_OLD = (
    "DELETE FROM runs WHERE rowid IN (SELECT rowid FROM runs ORDER BY rowid LIMIT ?) AND finished_at < ?"
)
DELETE_SURPLUS = (
    "DELETE FROM runs WHERE rowid IN (SELECT rowid FROM runs"
    " WHERE rowid <= (SELECT max(rowid) FROM runs) - ? ORDER BY rowid LIMIT ?)"
)


class SqliteRuns(SqlRuns):
    """Runs and hints of the past."""

    def __init__(self, database: SqliteDatabase, file: SqliteFile) -> None:
        super().__init__(database)
        self._file = file

    async def delete_old_runs(self, retention: Retention, now: datetime) -> int:
        return await delete_runs(self._file, now=now, **retention._asdict())


class SqliteStatistics(SqlStatistics):
    """The statistics of both databases, but for runs of a span of time.

    PostgreSQL finds those in its partitions by day; SQLite searches its rows, which are nearly in order.
    """

    def __init__(self, database: SqliteDatabase, file: SqliteFile) -> None:
        super().__init__(database)
        self._file = file

    async def runs_between(
        self, key: EndpointKey, *, since: datetime, until: datetime, limit: int
    ) -> list[Run]:
        begin, end = to_micros(since) or 0, to_micros(until) or 0

        def work(file: sqlite3.Connection) -> list[Run]:
            rows = (_row_at(file, begin - DISORDER), _row_at(file, end + DISORDER))
            few = rows[1] - rows[0] <= FEW
            statement = AMONG_FEW_ROWS if few else AMONG_MANY_ROWS
            found = file.execute(statement, (*key, *rows, begin, end, limit))
            return [read_run((*row, None), from_micros) for row in found]

        return await self._file.read(work)


def _row_at(file: sqlite3.Connection, moment: int) -> int:
    """The first row whose run ended at a moment or later; about, as they are not quite sorted."""
    low, high = file.execute(ENDS).fetchone()
    while low < high:
        middle = (low + high) // 2
        (finished_at,) = file.execute(FROM_ROW, (middle,)).fetchone()
        low, high = (low, middle) if finished_at >= moment else (middle + 1, high)
    return int(low)


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
