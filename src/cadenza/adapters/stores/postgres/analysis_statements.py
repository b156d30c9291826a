"""The statements about what planners feed on, said, noted and want to look at."""

from cadenza.adapters.stores.sql.analysis_rows import ANALYSIS, COLUMNS, WITHOUT_RESPONSE
from cadenza.adapters.stores.sql.rows import READ
from cadenza.adapters.stores.sql.rows import SELECT_ENDPOINT as READ_ROW
from cadenza.adapters.stores.sql.scheduling.jobs import WITH_STATE as STANDING
from cadenza.domain.scheduling.run import Run

KEYS = "unnest($1::text[], $2::text[]) AS k (tenant_id, id)"
ENDED = f"""
SELECT s.*, r.* FROM (
    SELECT pg_snapshot_xmin(now)::text::bigint, pg_snapshot_xmax(now)::text::bigint
    FROM pg_current_snapshot() AS now
) AS s LEFT JOIN LATERAL (
    SELECT {", ".join(WITHOUT_RESPONSE)}, txid FROM runs WHERE txid >= $1 AND (txid, id) > ($1, $2)
    ORDER BY txid, id LIMIT $3
) AS r ON true
"""
"""The first transaction that may be under way, the first that cannot have begun, and runs after a place."""
RECENT = f"""
SELECT {", ".join(f"r.{field}" for field in Run._fields)} FROM {KEYS} CROSS JOIN LATERAL (
    SELECT *, row_number() OVER newest AS place, sum(octet_length(response::text)) OVER newest AS taken
    FROM (
        SELECT {", ".join(Run._fields)} FROM runs WHERE tenant_id = k.tenant_id AND endpoint_id = k.id
        ORDER BY id DESC LIMIT $3
    ) AS each WINDOW newest AS (ORDER BY id DESC)
) AS r WHERE r.place = 1 OR coalesce(r.taken, 0) <= $4 ORDER BY r.tenant_id, r.endpoint_id, r.place
"""
THEMSELVES = (
    f"{READ_ROW} JOIN {KEYS} ON s.tenant_id = k.tenant_id AND s.endpoint_id = k.id WHERE NOT s.archived"
)
OF_JOBS = f"""
SELECT o.* FROM (
    SELECT DISTINCT e.tenant_id, e.job_id FROM {KEYS}
    JOIN endpoints e ON e.tenant_id = k.tenant_id AND e.id = k.id
) AS j CROSS JOIN LATERAL (
    SELECT {", ".join(READ)} FROM endpoints e {STANDING}
    WHERE e.tenant_id = j.tenant_id AND e.job_id = j.job_id AND NOT s.archived ORDER BY e.id LIMIT $3
) AS o
"""
PLACES = ", ".join(f"${place}" for place in range(1, len(ANALYSIS) + 1))
ADD = (
    f"INSERT INTO analyses ({COLUMNS}) VALUES ({PLACES}) ON CONFLICT (tenant_id, endpoint_id, id) DO NOTHING"
)
ANALYSES = (
    f"SELECT {COLUMNS} FROM analyses"
    " WHERE tenant_id = $1 AND endpoint_id = $2 AND id < $3 ORDER BY id DESC LIMIT $4"
)
BY_DAY = """
SELECT (began_at AT TIME ZONE 'UTC')::date AS day, planner, count(*), sum(input_tokens)::bigint,
    sum(output_tokens)::bigint
FROM analyses WHERE tenant_id = $1 AND endpoint_id = $2 AND began_at >= $3
GROUP BY day, planner ORDER BY day DESC, planner COLLATE "C"
"""
FORGET = """
WITH gone AS (DELETE FROM analyses WHERE began_at < $1 RETURNING id) SELECT count(*) FROM gone
"""
WANT = """
INSERT INTO looks (tenant_id, endpoint_id, planner, at) VALUES ($1, $2, $3, $4)
ON CONFLICT (tenant_id, endpoint_id, planner) DO UPDATE SET at = excluded.at
"""
UNWANT = "DELETE FROM looks WHERE tenant_id = $1 AND endpoint_id = $2 AND planner = $3"
DUE = """
UPDATE looks l SET at = $2 FROM (
    SELECT tenant_id, endpoint_id, planner, at FROM looks WHERE at <= $1
    ORDER BY at LIMIT $3 FOR UPDATE SKIP LOCKED
) AS due
WHERE l.tenant_id = due.tenant_id AND l.endpoint_id = due.endpoint_id AND l.planner = due.planner
RETURNING due.tenant_id, due.endpoint_id, due.planner, due.at
"""
NOTE = """
INSERT INTO notes (planner, tenant_id, endpoint_id, note, taken_at)
SELECT $1, tenant_id, endpoint_id, note, $2
FROM unnest($3::text[], $4::text[], $5::json[]) AS n (tenant_id, endpoint_id, note)
ON CONFLICT (planner, tenant_id, endpoint_id) DO UPDATE SET note = excluded.note, taken_at = excluded.taken_at
"""
NOTES = (
    f"SELECT n.tenant_id, n.endpoint_id, n.note FROM {KEYS}"
    " JOIN notes n ON n.planner = $3 AND n.tenant_id = k.tenant_id AND n.endpoint_id = k.id"
)
