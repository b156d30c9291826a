"""What planners read of runs in a SQLite file: ended runs by their rows, which one writer adds in order."""

import sqlite3
from collections.abc import Collection
from functools import partial

from cadenza.adapters.stores.sql.planning.analyses import WITHOUT_RESPONSE, SqlAnalyses
from cadenza.adapters.stores.sql.rows import (
    ENDPOINT_COLUMNS,
    LISTED_RUN_COLUMNS,
    from_micros,
    read_endpoint,
    read_run,
)
from cadenza.adapters.stores.sql.scheduling.jobs import WITH_STATE
from cadenza.adapters.stores.sqlite.cycle_statements import GET
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.dialect import SqliteDatabase, for_sqlite
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Run
from cadenza.ports.planning import EndedRuns

LAST = "SELECT coalesce(max(rowid), 0) FROM runs"
ENDED = f"SELECT rowid, {', '.join(WITHOUT_RESPONSE)} FROM runs WHERE rowid > ? ORDER BY rowid LIMIT ?"
RECENT = f"""
SELECT {", ".join(LISTED_RUN_COLUMNS)} FROM runs WHERE tenant_id = ? AND endpoint_id = ?
ORDER BY id DESC LIMIT ?
"""
SIBLINGS = for_sqlite(
    f"SELECT {', '.join(ENDPOINT_COLUMNS)} FROM endpoints e {WITH_STATE}"
    " WHERE e.tenant_id = $1 AND e.job_id = $2 AND NOT s.archived ORDER BY e.id LIMIT $3"
).text


class SqliteAnalyses(SqlAnalyses):
    """Analyses in a SQLite file, where a planner reads endpoint by endpoint in one read."""

    def __init__(self, database: SqliteDatabase, file: SqliteFile) -> None:
        super().__init__(database)
        self._file = file

    async def ended_since(self, cursor: str | None, limit: int) -> EndedRuns:
        return await self._file.read(partial(_ended_since, cursor=cursor, limit=limit))

    async def with_siblings(self, keys: Collection[EndpointKey], most: int) -> list[Endpoint]:
        return await self._file.read(partial(_with_siblings, keys=keys, most=most))

    async def recent_runs(
        self, keys: Collection[EndpointKey], *, each: int, most_bytes: int
    ) -> dict[EndpointKey, list[Run]]:
        def work(file: sqlite3.Connection) -> dict[EndpointKey, list[Run]]:
            found = {key: _recent(file, key, each=each, most_bytes=most_bytes) for key in keys}
            return {key: runs for key, runs in found.items() if runs}

        return await self._file.read(work)


def _ended_since(file: sqlite3.Connection, cursor: str | None, limit: int) -> EndedRuns:
    """Runs after a row; a row beyond the last is of another file."""
    (last,) = file.execute(LAST).fetchone()
    place = int(cursor) if cursor is not None and cursor.isdecimal() else last
    if place >= last:
        return EndedRuns([], str(last))
    rows = file.execute(ENDED, (place, limit)).fetchall()
    runs = [read_run((*row[1:], None), from_micros) for row in rows]
    return EndedRuns(runs, str(rows[-1][0] if rows else last))


def _with_siblings(file: sqlite3.Connection, keys: Collection[EndpointKey], most: int) -> list[Endpoint]:
    rows = [file.execute(GET, key).fetchone() for key in dict.fromkeys(keys)]
    endpoints = [read_endpoint(row, from_micros) for row in rows if row is not None]
    found = {one.key: one for one in endpoints if not one.archived}
    for tenant_id, job_id in {(one.tenant_id, one.job_id): None for one in found.values()}:
        for row in file.execute(SIBLINGS, (tenant_id, job_id, most + 1)):
            one = read_endpoint(row, from_micros)
            found[one.key] = one
    return list(found.values())


def _recent(file: sqlite3.Connection, key: EndpointKey, *, each: int, most_bytes: int) -> list[Run]:
    found: list[Run] = []
    taken = 0
    for row in file.execute(RECENT, (*key, each)):
        taken += len(row[-1] or "")
        if found and taken > most_bytes:
            break
        found.append(read_run(row, from_micros))
    return found
