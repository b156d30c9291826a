"""The statements about figures; each goes by an index, and no further than its limit."""

from cadenza.adapters.stores.postgres.analysis_statements import KEYS
from cadenza.adapters.stores.sql.analysis_rows import COLUMNS, WITHOUT_RESPONSE
from cadenza.adapters.stores.sql.catalog_rows import ENDED
from cadenza.adapters.stores.sql.figure_statements import sat_together
from cadenza.adapters.stores.sql.statistics import AHEAD
from cadenza.ports.monitoring import Together

AHEAD_OF = (
    f"SELECT {', '.join(AHEAD)} FROM (SELECT * FROM endpoint_states WHERE tenant_id = $1"
    " AND claimable_at IS NOT NULL AND claimable_at < $2 ORDER BY claimable_at LIMIT $3) AS s"
    " CROSS JOIN LATERAL (SELECT definition FROM endpoints e"
    " WHERE e.tenant_id = s.tenant_id AND e.id = s.endpoint_id OFFSET 0) AS e ORDER BY s.claimable_at"
)
IN_FLIGHT = (
    "SELECT count(*) FROM (SELECT FROM endpoint_states"
    " WHERE lease_token IS NOT NULL AND tenant_id = $1 LIMIT $2) AS claimed"
)
LATEST = (
    f"SELECT * FROM (SELECT {', '.join(ENDED)} FROM runs WHERE tenant_id = $1 AND finished_at >= $2"
    " ORDER BY id DESC LIMIT $3) AS newest WHERE finished_at >= $4"
)
LATEST_OF = f"""
SELECT k.tenant_id, k.id, {", ".join(f"r.{column}" for column in ENDED)} FROM {KEYS} CROSS JOIN LATERAL (
    SELECT id, {", ".join(ENDED)} FROM runs WHERE tenant_id = k.tenant_id AND endpoint_id = k.id
    ORDER BY id DESC LIMIT $3
) AS r ORDER BY k.tenant_id, k.id, r.id DESC
"""
STRETCH = (
    f"SELECT {', '.join(WITHOUT_RESPONSE)} FROM runs WHERE tenant_id = $1 AND endpoint_id = $2"
    " AND finished_at >= $3 AND finished_at < $4 ORDER BY id DESC LIMIT $5"
)
_LATELY = "tenant_id = $1 AND began_at >= $2 ORDER BY began_at DESC LIMIT $3"
SAT = {
    Together.ALL: sat_together("''", newest=_LATELY, most="$4"),
    Together.DAY: sat_together(
        "to_char(began_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')", newest=_LATELY, most="$4"
    ),
    Together.ENDPOINT: sat_together('endpoint_id COLLATE "C"', newest=_LATELY, most="$4"),
}
SITTINGS = (
    f"SELECT {COLUMNS} FROM analyses WHERE tenant_id = $1 AND (began_at, id) < ($2, $3)"
    " ORDER BY began_at DESC, id DESC LIMIT $4"
)
