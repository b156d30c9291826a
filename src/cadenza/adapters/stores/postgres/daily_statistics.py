"""Figures of daily jobs from PostgreSQL."""

from datetime import date, datetime

from cadenza.adapters.stores.postgres import daily_figure_statements as sql
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.reading import as_it_is
from cadenza.adapters.stores.sql.daily_figure_rows import as_waiting
from cadenza.adapters.stores.sql.daily_rows import read_verdict
from cadenza.domain.daily.user import DayCounts, Verdict
from cadenza.domain.monitoring.statistics import FIRST_MISS, DayTotal, Missed, Tally, Waiting


class PostgresDailyFigures:
    """Counts that triggers keep, and reads by index."""

    _pool: PostgresPool

    async def tallies(self, tenant_id: str, day: date) -> list[Tally]:
        rows = await self._pool.ask(sql.TALLIES, tenant_id, day.isoformat())
        return [Tally(due, DayCounts(*counts)) for due, *counts in rows]

    async def day_totals(self, tenant_id: str, *, since: date, until: date) -> list[DayTotal]:
        rows = await self._pool.ask(sql.TOTALS, tenant_id, since.isoformat(), until.isoformat())
        return [DayTotal(date.fromisoformat(day), DayCounts(*counts)) for day, *counts in rows]

    async def waiting(self, tenant_id: str, *, since: datetime, until: datetime, each: int) -> Waiting:
        rows = await self._pool.ask(sql.WAITING, tenant_id, since, until, each)
        return as_waiting([tuple(row) for row in rows])

    async def misses(
        self, tenant_id: str, day: date, *, limit: int, after: Missed = FIRST_MISS
    ) -> list[Verdict]:
        rows = await self._pool.ask(sql.MISSES, tenant_id, day.isoformat(), *after, limit)
        return [read_verdict(row, as_it_is) for row in rows]
