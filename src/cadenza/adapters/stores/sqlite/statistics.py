"""Runs of a span of time, found by SQLite without an index on time."""

import sqlite3
from datetime import datetime

from cadenza.adapters.stores.sql.monitoring.statistics import SqlStatistics
from cadenza.adapters.stores.sql.planning.analyses import WITHOUT_RESPONSE
from cadenza.adapters.stores.sql.rows import from_micros, read_run, to_micros
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.dialect import SqliteDatabase
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.run import Run

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
