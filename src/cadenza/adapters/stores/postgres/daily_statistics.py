"""Figures of daily jobs from PostgreSQL."""

from datetime import date, datetime

from cadenza.adapters.stores.postgres.arrays import as_it_is
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.sql.daily_rows import VERDICT, read_verdict
from cadenza.adapters.stores.sql.statistics import as_waiting
from cadenza.domain.daily.rules import SHARDS
from cadenza.domain.daily.user import DayCounts, Verdict
from cadenza.domain.monitoring.statistics import FIRST_MISS, DayTotal, Missed, Tally, Waiting


class PostgresDailyFigures:
    """Counts that triggers keep, and reads by index."""

    _pool: PostgresPool

    async def tallies(self, tenant_id: str, day: date) -> list[Tally]:
        rows = await self._pool.ask(TALLIES, tenant_id, day.isoformat())
        return [Tally(due, DayCounts(*counts)) for due, *counts in rows]

    async def day_totals(self, tenant_id: str, *, since: date, until: date) -> list[DayTotal]:
        rows = await self._pool.ask(TOTALS, tenant_id, since.isoformat(), until.isoformat())
        return [DayTotal(date.fromisoformat(day), DayCounts(*counts)) for day, *counts in rows]

    async def waiting(self, tenant_id: str, *, since: datetime, until: datetime, each: int) -> Waiting:
        rows = await self._pool.ask(WAITING, tenant_id, since, until, each)
        return as_waiting([tuple(row) for row in rows])

    async def misses(
        self, tenant_id: str, day: date, *, limit: int, after: Missed = FIRST_MISS
    ) -> list[Verdict]:
        rows = await self._pool.ask(MISSES, tenant_id, day.isoformat(), *after, limit)
        return [read_verdict(row, as_it_is) for row in rows]


TALLIES = """
SELECT due, success, cutoff_reached, late FROM daily_tallies
WHERE tenant_id = $1 AND service_date = $2 ORDER BY due
"""
TOTALS = """
SELECT service_date, sum(success), sum(cutoff_reached), sum(late) FROM daily_tallies
WHERE tenant_id = $1 AND service_date BETWEEN $2 AND $3 GROUP BY service_date ORDER BY service_date DESC
"""
WAITING = f"""
WITH seen AS MATERIALIZED (
    SELECT s.shard, u.next_cutoff, u.tenant_id FROM generate_series(0, {SHARDS - 1}) AS s (shard)
    CROSS JOIN LATERAL (
        SELECT next_cutoff, tenant_id FROM daily_users
        WHERE shard = s.shard AND next_cutoff >= $2 AND next_cutoff < $3 ORDER BY next_cutoff LIMIT $4
    ) AS u
),
ends AS (SELECT max(next_cutoff) AS cutoff FROM seen GROUP BY shard HAVING count(*) = $4)
SELECT next_cutoff, count(*) FILTER (WHERE tenant_id = $1), (SELECT min(cutoff) FROM ends)
FROM seen GROUP BY next_cutoff
"""
MISSES = f"""
SELECT {", ".join(VERDICT)} FROM daily_verdicts
WHERE tenant_id = $1 AND service_date = $2 AND status = 'cutoff_reached' AND (due, user_id) > ($3, $4)
ORDER BY due, user_id LIMIT $5
"""
