"""Figures from a SQLite file."""

import sqlite3
from collections.abc import Collection
from datetime import datetime

from cadenza.adapters.stores.sql.analysis_rows import COLUMNS, WITHOUT_RESPONSE, read_analysis
from cadenza.adapters.stores.sql.rows import from_micros, read_endpoint, read_run, to_micros
from cadenza.adapters.stores.sql.scheduling.run_search import ENDED, read_ended
from cadenza.adapters.stores.sql.statistics import AHEAD, read_activity, read_upcoming, sat_together
from cadenza.adapters.stores.sqlite import cycle_statements as statements
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.domain.monitoring.forecast import UpcomingRun
from cadenza.domain.planning.analysis import Analysis
from cadenza.domain.planning.health import Ended
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Run
from cadenza.ports.monitoring import ActivityGrouping, AnalysisCursor, PlannerActivity

DISORDER = 10 * 60 * 1_000_000
"""A run is added within so many microseconds of its end, give or take."""

FEW = 10_000
"""So many rows are looked at sooner than all that an index may have to pass over."""


class SqliteFigures:
    """What is ahead, in flight and behind."""

    _file: SqliteFile

    async def endpoints_by_key(self, keys: Collection[EndpointKey]) -> list[Endpoint]:
        def work(file: sqlite3.Connection) -> list[Endpoint]:
            rows = (file.execute(statements.GET, key).fetchone() for key in sorted(set(keys)))
            found = [read_endpoint(row, from_micros) for row in rows if row is not None]
            return [one for one in found if not one.archived]

        return await self._file.read(work)

    async def upcoming_runs(self, tenant_id: str, *, until: datetime, limit: int) -> list[UpcomingRun]:
        wanted = (tenant_id, to_micros(until), limit)
        rows = await self._file.read(lambda file: file.execute(AHEAD_OF, wanted).fetchall())
        return [read_upcoming(row, from_micros) for row in rows]

    async def in_flight(self, tenant_id: str, most: int) -> int:
        row = await self._file.read(lambda file: file.execute(IN_FLIGHT, (tenant_id, most)).fetchone())
        return int(row[0])

    async def latest_runs(self, tenant_id: str, *, since: datetime, limit: int) -> list[Ended]:
        begin = to_micros(since) or 0
        rows = await self._file.read(lambda file: file.execute(LATEST, (tenant_id, limit)).fetchall())
        return read_ended([row for row in rows if row[0] >= begin], from_micros)

    async def latest_runs_of(
        self, keys: Collection[EndpointKey], *, each: int
    ) -> dict[EndpointKey, list[Ended]]:
        def work(file: sqlite3.Connection) -> dict[EndpointKey, list[Ended]]:
            found = {key: file.execute(LATEST_OF, (*key, each)).fetchall() for key in keys}
            return {key: read_ended(rows, from_micros) for key, rows in found.items() if rows}

        return await self._file.read(work)

    async def runs_between(
        self, key: EndpointKey, *, since: datetime, until: datetime, limit: int
    ) -> list[Run]:
        begin, end = to_micros(since) or 0, to_micros(until) or 0

        def work(file: sqlite3.Connection) -> list[Run]:
            rows = (_row_at(file, begin - DISORDER), _row_at(file, end + DISORDER))
            few = rows[1] - rows[0] <= FEW
            statement = STRETCH_OF_FEW if few else STRETCH_OF_MANY
            found = file.execute(statement, (*key, *rows, begin, end, limit))
            return [read_run((*row, None), from_micros) for row in found]

        return await self._file.read(work)

    async def planner_activity(
        self, tenant_id: str, *, grouping: ActivityGrouping, since: datetime, limit: int, most: int
    ) -> list[PlannerActivity]:
        wanted = (tenant_id, to_micros(since), limit, most)
        rows = await self._file.read(lambda file: file.execute(SAT[grouping], wanted).fetchall())
        return [read_activity(row, from_micros) for row in rows]

    async def recent_analyses(self, tenant_id: str, *, before: AnalysisCursor, limit: int) -> list[Analysis]:
        wanted = (tenant_id, to_micros(before.began_at), before.id, limit)
        rows = await self._file.read(lambda file: file.execute(SITTINGS, wanted).fetchall())
        return [read_analysis(row, from_micros) for row in rows]


def _row_at(file: sqlite3.Connection, moment: int) -> int:
    """The first row whose run ended at a moment or later; about, as they are not quite sorted."""
    low, high = file.execute(ENDS).fetchone()
    while low < high:
        middle = (low + high) // 2
        (finished_at,) = file.execute(FROM_ROW, (middle,)).fetchone()
        low, high = (low, middle) if finished_at >= moment else (middle + 1, high)
    return int(low)


AHEAD_OF = (
    f"SELECT {', '.join(AHEAD)} FROM endpoint_states s INDEXED BY endpoint_states_due_of_tenant"
    " CROSS JOIN endpoints e ON e.tenant_id = s.tenant_id AND e.id = s.endpoint_id"
    " WHERE s.tenant_id = ? AND s.claimable_at IS NOT NULL AND s.claimable_at < ?"
    " ORDER BY s.claimable_at LIMIT ?"
)
IN_FLIGHT = (
    "SELECT count(*) FROM (SELECT 1 FROM endpoint_states INDEXED BY endpoint_states_leased"
    " WHERE lease_token IS NOT NULL AND tenant_id = ? LIMIT ?)"
)
LATEST = f"SELECT {', '.join(ENDED)} FROM runs WHERE tenant_id = ? ORDER BY id DESC LIMIT ?"
LATEST_OF = (
    f"SELECT {', '.join(ENDED)} FROM runs WHERE tenant_id = ? AND endpoint_id = ? ORDER BY id DESC LIMIT ?"
)
# Rows are added about in the order in which runs end. Of few rows, each is looked at. Of many, an index
# names those of the endpoint, and passes over those of other times without reading them.
STRETCH_OF_FEW, STRETCH_OF_MANY = (
    f"SELECT {', '.join(WITHOUT_RESPONSE)} FROM runs WHERE {no_index}tenant_id = ?"
    f" AND {no_index}endpoint_id = ? AND rowid >= ? AND rowid <= ? AND finished_at >= ? AND finished_at < ?"
    f" ORDER BY {no_index}id DESC LIMIT ?"
    for no_index in ("+", "")
)
# Each for itself: asked for both at once, SQLite goes through them all.
ENDS = "SELECT coalesce((SELECT min(rowid) FROM runs), 0), coalesce((SELECT max(rowid) FROM runs), 0)"
FROM_ROW = "SELECT finished_at FROM runs WHERE rowid >= ? ORDER BY rowid LIMIT 1"
_LATELY = "tenant_id = ? AND began_at >= ? ORDER BY began_at DESC LIMIT ?"
SAT = {
    ActivityGrouping.ALL: sat_together("''", newest=_LATELY, most="?"),
    ActivityGrouping.DAY: sat_together("date(began_at / 1000000, 'unixepoch')", newest=_LATELY, most="?"),
    ActivityGrouping.ENDPOINT: sat_together("endpoint_id", newest=_LATELY, most="?"),
}
SITTINGS = (
    f"SELECT {COLUMNS} FROM analyses WHERE tenant_id = ? AND (began_at, id) < (?, ?)"
    " ORDER BY began_at DESC, id DESC LIMIT ?"
)
