"""The statements about figures of daily jobs."""

from cadenza.adapters.stores.sql.daily_rows import VERDICT
from cadenza.domain.daily.rules import SHARDS

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
