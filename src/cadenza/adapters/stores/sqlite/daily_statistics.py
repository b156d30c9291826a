"""Figures of daily jobs from a SQLite file."""

from datetime import date, datetime

from cadenza.adapters.stores.sql.daily_figure_rows import as_waiting
from cadenza.adapters.stores.sql.daily_rows import read_verdict
from cadenza.adapters.stores.sql.rows import from_micros, to_micros
from cadenza.adapters.stores.sqlite import daily_figure_statements as sql
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.domain.daily.user import DayCounts, Verdict
from cadenza.domain.monitoring.statistics import FIRST_MISS, DayTotal, Missed, Tally, Waiting


class SqliteDailyFigures:
    """Counts that triggers keep, and reads by index."""

    _file: SqliteFile

    async def tallies(self, tenant_id: str, day: date) -> list[Tally]:
        asked = (tenant_id, day.isoformat())
        rows = await self._file.read(lambda file: file.execute(sql.TALLIES, asked).fetchall())
        return [Tally(due, DayCounts(*counts)) for due, *counts in rows]

    async def day_totals(self, tenant_id: str, *, since: date, until: date) -> list[DayTotal]:
        asked = (tenant_id, since.isoformat(), until.isoformat())
        rows = await self._file.read(lambda file: file.execute(sql.TOTALS, asked).fetchall())
        return [DayTotal(date.fromisoformat(day), DayCounts(*counts)) for day, *counts in rows]

    async def waiting(self, tenant_id: str, *, since: datetime, until: datetime, each: int) -> Waiting:
        asked = (tenant_id, to_micros(since), to_micros(until), each)
        rows = await self._file.read(lambda file: file.execute(sql.WAITING, asked).fetchall())
        return as_waiting([(from_micros(at), count, from_micros(end)) for at, count, end in rows])

    async def misses(
        self, tenant_id: str, day: date, *, limit: int, after: Missed = FIRST_MISS
    ) -> list[Verdict]:
        asked = (tenant_id, day.isoformat(), *after, limit)
        rows = await self._file.read(lambda file: file.execute(sql.MISSES, asked).fetchall())
        return [read_verdict(row, from_micros) for row in rows]
