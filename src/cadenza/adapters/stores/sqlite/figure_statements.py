"""The statements about figures; each goes by an index, and no further than its limit."""

from cadenza.adapters.stores.sql.analysis_rows import COLUMNS, WITHOUT_RESPONSE
from cadenza.adapters.stores.sql.catalog_rows import ENDED
from cadenza.adapters.stores.sql.figure_statements import sat_together
from cadenza.adapters.stores.sql.statistics import AHEAD
from cadenza.ports.monitoring import Together

AHEAD_OF = (
    f"SELECT {', '.join(AHEAD)} FROM endpoint_states s INDEXED BY endpoint_states_due_of_tenant"
    " CROSS JOIN endpoints e ON e.tenant_id = s.tenant_id AND e.id = s.endpoint_id"
    " WHERE s.tenant_id = ? AND s.claimable_at IS NOT NULL AND s.claimable_at < ?"
    " ORDER BY s.claimable_at LIMIT ?"
)
IN_FLIGHT = (
    "SELECT count(*) FROM (SELECT 1 FROM endpoint_states INDEXED BY endpoint_states_leased"
    " WHERE lease_token IS NOT NULL AND tenant_id = ? LIMIT ?)"
)
LATEST = f"SELECT {', '.join(ENDED)} FROM runs WHERE tenant_id = ? ORDER BY id DESC LIMIT ?"
LATEST_OF = (
    f"SELECT {', '.join(ENDED)} FROM runs WHERE tenant_id = ? AND endpoint_id = ? ORDER BY id DESC LIMIT ?"
)
# Rows are added about in the order in which runs end. Of few rows, each is looked at. Of many, an index
# names those of the endpoint, and passes over those of other times without reading them.
STRETCH_OF_FEW, STRETCH_OF_MANY = (
    f"SELECT {', '.join(WITHOUT_RESPONSE)} FROM runs WHERE {no_index}tenant_id = ?"
    f" AND {no_index}endpoint_id = ? AND rowid >= ? AND rowid <= ? AND finished_at >= ? AND finished_at < ?"
    f" ORDER BY {no_index}id DESC LIMIT ?"
    for no_index in ("+", "")
)
# Each for itself: asked for both at once, SQLite goes through them all.
ENDS = "SELECT coalesce((SELECT min(rowid) FROM runs), 0), coalesce((SELECT max(rowid) FROM runs), 0)"
FROM_ROW = "SELECT finished_at FROM runs WHERE rowid >= ? ORDER BY rowid LIMIT 1"
_LATELY = "tenant_id = ? AND began_at >= ? ORDER BY began_at DESC LIMIT ?"
SAT = {
    Together.ALL: sat_together("''", newest=_LATELY, most="?"),
    Together.DAY: sat_together("date(began_at / 1000000, 'unixepoch')", newest=_LATELY, most="?"),
    Together.ENDPOINT: sat_together("endpoint_id", newest=_LATELY, most="?"),
}
SITTINGS = (
    f"SELECT {COLUMNS} FROM analyses WHERE tenant_id = ? AND (began_at, id) < (?, ?)"
    " ORDER BY began_at DESC, id DESC LIMIT ?"
)
