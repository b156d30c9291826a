"""The statements about figures of daily jobs."""

from cadenza.adapters.stores.sql.daily_rows import VERDICT
from cadenza.domain.daily.rules import SHARDS

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
