"""Figures of daily jobs from a SQLite file."""

from datetime import date, datetime

from cadenza.adapters.stores.sql.daily_rows import VERDICT, read_verdict
from cadenza.adapters.stores.sql.rows import from_micros, to_micros
from cadenza.adapters.stores.sql.statistics import as_waiting
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.domain.daily.rules import SHARDS
from cadenza.domain.daily.user import DayCounts, Verdict
from cadenza.domain.monitoring.statistics import FIRST_MISS, DayTotal, Missed, Tally, Waiting


class SqliteDailyFigures:
    """Counts that triggers keep, and reads by index."""

    _file: SqliteFile

    async def tallies(self, tenant_id: str, day: date) -> list[Tally]:
        asked = (tenant_id, day.isoformat())
        rows = await self._file.read(lambda file: file.execute(TALLIES, asked).fetchall())
        return [Tally(due, DayCounts(*counts)) for due, *counts in rows]

    async def day_totals(self, tenant_id: str, *, since: date, until: date) -> list[DayTotal]:
        asked = (tenant_id, since.isoformat(), until.isoformat())
        rows = await self._file.read(lambda file: file.execute(TOTALS, asked).fetchall())
        return [DayTotal(date.fromisoformat(day), DayCounts(*counts)) for day, *counts in rows]

    async def waiting(self, tenant_id: str, *, since: datetime, until: datetime, each: int) -> Waiting:
        asked = (tenant_id, to_micros(since), to_micros(until), each)
        rows = await self._file.read(lambda file: file.execute(WAITING, asked).fetchall())
        return as_waiting([(from_micros(at), count, from_micros(end)) for at, count, end in rows])

    async def misses(
        self, tenant_id: str, day: date, *, limit: int, after: Missed = FIRST_MISS
    ) -> list[Verdict]:
        asked = (tenant_id, day.isoformat(), *after, limit)
        rows = await self._file.read(lambda file: file.execute(MISSES, asked).fetchall())
        return [read_verdict(row, from_micros) for row in rows]


TALLIES = """
SELECT due, success, cutoff_reached, late FROM daily_tallies
WHERE tenant_id = ? AND service_date = ? ORDER BY due
"""
TOTALS = """
SELECT service_date, sum(success), sum(cutoff_reached), sum(late) FROM daily_tallies
WHERE tenant_id = ? AND service_date BETWEEN ? AND ? GROUP BY service_date ORDER BY service_date DESC
"""
_LAST_OF_SHARD = """
SELECT * FROM (
    SELECT next_cutoff FROM daily_users
    WHERE shard = {} AND next_cutoff >= ?2 AND next_cutoff < ?3
    ORDER BY next_cutoff LIMIT 1 OFFSET ?4 - 1
)
"""
WAITING = f"""
WITH known AS MATERIALIZED (
    SELECT min(next_cutoff) AS before
    FROM ({" UNION ALL ".join(_LAST_OF_SHARD.format(shard) for shard in range(SHARDS))})
)
SELECT NULL, 0, before FROM known UNION ALL
SELECT next_cutoff, sum(tenant_id = ?1), NULL FROM daily_users
WHERE shard IN ({", ".join(map(str, range(SHARDS)))}) AND next_cutoff >= ?2
    AND next_cutoff < coalesce((SELECT before FROM known), ?3)
GROUP BY next_cutoff
"""
MISSES = f"""
SELECT {", ".join(VERDICT)} FROM daily_verdicts
WHERE tenant_id = ? AND service_date = ? AND status = 'cutoff_reached' AND (due, user_id) > (?, ?)
ORDER BY due, user_id LIMIT ?
"""
