"""The statements about figures of daily jobs."""

from cadenza.adapters.sql.daily_rows import VERDICT
from cadenza.domain.daily_shards import SHARDS

TALLIES = """
SELECT due, success, cutoff_reached, late FROM daily_tallies
WHERE tenant_id = ? AND service_date = ? ORDER BY due
"""
TOTALS = """
SELECT service_date, sum(success), sum(cutoff_reached), sum(late) FROM daily_tallies
WHERE tenant_id = ? AND service_date BETWEEN ? AND ? GROUP BY service_date ORDER BY service_date DESC
"""
_OF_SHARD = """
SELECT * FROM (
    SELECT shard, next_cutoff, tenant_id FROM daily_users
    WHERE shard = {} AND next_cutoff >= ?2 AND next_cutoff < ?3 ORDER BY next_cutoff LIMIT ?4
)
"""
WAITING = f"""
WITH seen AS MATERIALIZED ({" UNION ALL ".join(_OF_SHARD.format(shard) for shard in range(SHARDS))}),
ends AS (SELECT max(next_cutoff) AS cutoff FROM seen GROUP BY shard HAVING count(*) = ?4)
SELECT next_cutoff, sum(tenant_id = ?1), (SELECT min(cutoff) FROM ends) FROM seen GROUP BY next_cutoff
"""
MISSES = f"""
SELECT {", ".join(VERDICT)} FROM daily_verdicts
WHERE tenant_id = ? AND service_date = ? AND status = 'cutoff_reached' AND (due, user_id) > (?, ?)
ORDER BY due, user_id LIMIT ?
"""
