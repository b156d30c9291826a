"""Figures from a SQLite file."""

import sqlite3
from collections.abc import Collection
from datetime import datetime

from cadenza.adapters.stores.sql.analysis_rows import read_analysis
from cadenza.adapters.stores.sql.catalog_rows import read_ended
from cadenza.adapters.stores.sql.rows import from_micros, read_endpoint, read_run, to_micros
from cadenza.adapters.stores.sql.statistics import read_ahead, read_sat
from cadenza.adapters.stores.sqlite import figure_statements as sql
from cadenza.adapters.stores.sqlite import statements
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.domain.planning.analysis import Analysis
from cadenza.domain.planning.health import Ended
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Run
from cadenza.ports.monitoring import Ahead, Mark, Sat, Together

DISORDER = 10 * 60 * 1_000_000
"""A run is added within so many microseconds of its end, give or take."""

FEW = 10_000
"""So many rows are looked at sooner than all that an index may have to pass over."""


class SqliteFigures:
    """What is ahead, in flight and behind."""

    _file: SqliteFile

    async def these(self, keys: Collection[EndpointKey]) -> list[Endpoint]:
        def work(file: sqlite3.Connection) -> list[Endpoint]:
            rows = (file.execute(statements.GET, key).fetchone() for key in sorted(set(keys)))
            found = [read_endpoint(row, from_micros) for row in rows if row is not None]
            return [one for one in found if not one.archived]

        return await self._file.read(work)

    async def ahead(self, tenant_id: str, *, until: datetime, limit: int) -> list[Ahead]:
        wanted = (tenant_id, to_micros(until), limit)
        rows = await self._file.read(lambda file: file.execute(sql.AHEAD_OF, wanted).fetchall())
        return [read_ahead(row, from_micros) for row in rows]

    async def in_flight(self, tenant_id: str, most: int) -> int:
        row = await self._file.read(lambda file: file.execute(sql.IN_FLIGHT, (tenant_id, most)).fetchone())
        return int(row[0])

    async def latest(self, tenant_id: str, *, since: datetime, limit: int) -> list[Ended]:
        begin = to_micros(since) or 0
        rows = await self._file.read(lambda file: file.execute(sql.LATEST, (tenant_id, limit)).fetchall())
        return read_ended([row for row in rows if row[0] >= begin], from_micros)

    async def latest_of(self, keys: Collection[EndpointKey], *, each: int) -> dict[EndpointKey, list[Ended]]:
        def work(file: sqlite3.Connection) -> dict[EndpointKey, list[Ended]]:
            found = {key: file.execute(sql.LATEST_OF, (*key, each)).fetchall() for key in keys}
            return {key: read_ended(rows, from_micros) for key, rows in found.items() if rows}

        return await self._file.read(work)

    async def stretch(self, key: EndpointKey, *, since: datetime, until: datetime, limit: int) -> list[Run]:
        begin, end = to_micros(since) or 0, to_micros(until) or 0

        def work(file: sqlite3.Connection) -> list[Run]:
            rows = (_row_at(file, begin - DISORDER), _row_at(file, end + DISORDER))
            few = rows[1] - rows[0] <= FEW
            statement = sql.STRETCH_OF_FEW if few else sql.STRETCH_OF_MANY
            found = file.execute(statement, (*key, *rows, begin, end, limit))
            return [read_run((*row, None), from_micros) for row in found]

        return await self._file.read(work)

    async def sat(
        self, tenant_id: str, *, together: Together, since: datetime, limit: int, most: int
    ) -> list[Sat]:
        wanted = (tenant_id, to_micros(since), limit, most)
        rows = await self._file.read(lambda file: file.execute(sql.SAT[together], wanted).fetchall())
        return [read_sat(row, from_micros) for row in rows]

    async def sittings(self, tenant_id: str, *, before: Mark, limit: int) -> list[Analysis]:
        wanted = (tenant_id, to_micros(before.began_at), before.id, limit)
        rows = await self._file.read(lambda file: file.execute(sql.SITTINGS, wanted).fetchall())
        return [read_analysis(row, from_micros) for row in rows]


def _row_at(file: sqlite3.Connection, moment: int) -> int:
    """The first row whose run ended at a moment or later; about, as they are not quite sorted."""
    low, high = file.execute(sql.ENDS).fetchone()
    while low < high:
        middle = (low + high) // 2
        (finished_at,) = file.execute(sql.FROM_ROW, (middle,)).fetchone()
        low, high = (low, middle) if finished_at >= moment else (middle + 1, high)
    return int(low)
