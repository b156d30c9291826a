"""Counts of daily verdicts, and of users whose day is still to come."""

from collections.abc import Sequence
from datetime import UTC, date, datetime

from cadenza.adapters.stores.sql.daily.rows import VERDICT, read_verdict
from cadenza.adapters.stores.sql.database import Database
from cadenza.adapters.stores.sql.rows import Read, Row
from cadenza.domain.daily.keys import DAILY
from cadenza.domain.daily.rules import SHARDS
from cadenza.domain.daily.user import DayCounts, Verdict
from cadenza.domain.monitoring.statistics import (
    BEFORE_FIRST_MISS,
    DayTotal,
    DueMinuteCounts,
    GapCounts,
    LocalCutoff,
    MissCursor,
    UndecidedUsers,
    add_gaps,
)

TALLIES = """
SELECT due, success, cutoff_reached, late FROM daily_tallies
WHERE tenant_id = $1 AND programme_id = $2 AND service_date = $3 ORDER BY due
"""
TOTALS = """
SELECT service_date, sum(success), sum(cutoff_reached), sum(late) FROM daily_tallies
WHERE tenant_id = $1 AND programme_id = $2 AND service_date BETWEEN $3 AND $4
GROUP BY service_date ORDER BY service_date DESC
"""
GAPS = """
SELECT from_date, to_date, count(*) FROM daily_gaps
WHERE tenant_id = $1 AND programme_id = $2 AND to_date >= $3 AND from_date <= $4 GROUP BY to_date, from_date
"""
_LAST_READ = """
SELECT * FROM (
    SELECT next_cutoff FROM daily_users WHERE shard = {shard} AND next_date = $3
    ORDER BY next_cutoff LIMIT 1 OFFSET $4::int - 1
) AS of_{shard}
"""
# Of each shard so many users are read. The first cutoff at which a shard ran into that limit ends the
# answer: from there on, the counts would be too low.
WAITING = f"""
WITH ends AS MATERIALIZED (
    SELECT min(next_cutoff) AS first
    FROM ({" UNION ALL ".join(_LAST_READ.format(shard=shard) for shard in range(SHARDS))}) AS last_read
)
SELECT NULL::int, NULL::timestamptz, 0, first FROM ends UNION ALL
SELECT due, next_cutoff, count(*) FILTER (WHERE tenant_id = $1 AND programme_id = $2), NULL FROM daily_users
WHERE shard IN ({", ".join(map(str, range(SHARDS)))}) AND next_date = $3
    AND next_cutoff < coalesce((SELECT first FROM ends), $5)
GROUP BY due, next_cutoff
"""
END_OF_TIME = datetime(9_999, 1, 1, tzinfo=UTC)
MISSES = f"""
SELECT {", ".join(VERDICT)} FROM daily_verdicts
WHERE tenant_id = $1 AND programme_id = $2 AND service_date = $3 AND status = 'cutoff_reached'
    AND (due, user_id) > ($4, $5)
ORDER BY due, user_id LIMIT $6
"""


class SqlDailyStatistics:
    """Counts that triggers keep, and reads by index."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def tallies(self, tenant_id: str, day: date, *, programme_id: str = DAILY) -> list[DueMinuteCounts]:
        rows = await self._database.read(TALLIES, tenant_id, programme_id, day.isoformat())
        return [DueMinuteCounts(due, DayCounts(*counts)) for due, *counts in rows]

    async def day_totals(
        self, tenant_id: str, *, since: date, until: date, programme_id: str = DAILY
    ) -> list[DayTotal]:
        asked = (tenant_id, programme_id, since.isoformat(), until.isoformat())
        rows = await self._database.read(TOTALS, *asked)
        verdicts = {date.fromisoformat(day): DayCounts(*counts) for day, *counts in rows}
        gaps = [
            GapCounts(date.fromisoformat(first), date.fromisoformat(last), users)
            for first, last, users in await self._database.read(GAPS, *asked)
        ]
        return add_gaps(verdicts, gaps, since=since, until=until)

    async def waiting(
        self, tenant_id: str, day: date, *, each: int, programme_id: str = DAILY
    ) -> UndecidedUsers:
        values = (tenant_id, programme_id, day.isoformat(), each, END_OF_TIME)
        rows = await self._database.read(WAITING, *values)
        return _read_waiting(rows, self._database.read_moment)

    async def misses(
        self,
        tenant_id: str,
        day: date,
        *,
        limit: int,
        after: MissCursor = BEFORE_FIRST_MISS,
        programme_id: str = DAILY,
    ) -> list[Verdict]:
        rows = await self._database.read(MISSES, tenant_id, programme_id, day.isoformat(), *after, limit)
        return [read_verdict(row, self._database.read_moment) for row in rows]


def _read_waiting(rows: Sequence[Row], read: Read) -> UndecidedUsers:
    """Counts by due minute and cutoff, and the cutoff at which they end; the row without one holds it."""
    counts = {
        LocalCutoff(due, read(cutoff)): count
        for due, cutoff, count, _ in rows
        if cutoff is not None and count
    }
    ends = [read(end) for _, _, _, end in rows if end is not None]
    return UndecidedUsers(counts, ends[0] if ends else None)
