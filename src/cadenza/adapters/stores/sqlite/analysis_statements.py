"""The statements about what planners feed on, said, noted and want to look at."""

from cadenza.adapters.stores.sql.analysis_rows import ANALYSIS, COLUMNS, WITHOUT_RESPONSE
from cadenza.adapters.stores.sql.rows import READ
from cadenza.domain.scheduling.run import Run

STANDING = "CROSS JOIN endpoint_states s ON s.tenant_id = e.tenant_id AND s.endpoint_id = e.id"

LAST = "SELECT coalesce(max(rowid), 0) FROM runs"
ENDED = f"SELECT rowid, {', '.join(WITHOUT_RESPONSE)} FROM runs WHERE rowid > ? ORDER BY rowid LIMIT ?"
RECENT = (
    f"SELECT {', '.join(Run._fields)} FROM runs WHERE tenant_id = ? AND endpoint_id = ?"
    " ORDER BY id DESC LIMIT ?"
)
OF_JOB = (
    f"SELECT {', '.join(READ)} FROM endpoints e {STANDING}"
    " WHERE e.tenant_id = ? AND e.job_id = ? AND NOT s.archived ORDER BY e.id LIMIT ?"
)
ADD = (
    f"INSERT INTO analyses ({COLUMNS}) VALUES ({', '.join('?' * len(ANALYSIS))})"
    " ON CONFLICT (tenant_id, endpoint_id, id) DO NOTHING"
)
ANALYSES = (
    f"SELECT {COLUMNS} FROM analyses"
    " WHERE tenant_id = ? AND endpoint_id = ? AND id < ? ORDER BY id DESC LIMIT ?"
)
BY_DAY = """
SELECT date(began_at / 1000000, 'unixepoch') AS day, planner, count(*), sum(input_tokens), sum(output_tokens)
FROM analyses WHERE tenant_id = ? AND endpoint_id = ? AND began_at >= ?
GROUP BY day, planner ORDER BY day DESC, planner
"""
FORGET = """
DELETE FROM analyses WHERE rowid IN (SELECT rowid FROM analyses WHERE began_at < ? ORDER BY began_at LIMIT ?)
"""
WANT = """
INSERT INTO looks (tenant_id, endpoint_id, planner, at) VALUES (?, ?, ?, ?)
ON CONFLICT (tenant_id, endpoint_id, planner) DO UPDATE SET at = excluded.at
"""
UNWANT = "DELETE FROM looks WHERE tenant_id = ? AND endpoint_id = ? AND planner = ?"
DUE = "SELECT tenant_id, endpoint_id, planner, at FROM looks WHERE at <= ? ORDER BY at LIMIT ?"
NOTE = """
INSERT INTO notes (planner, tenant_id, endpoint_id, note, taken_at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (planner, tenant_id, endpoint_id) DO UPDATE SET note = excluded.note, taken_at = excluded.taken_at
"""
NOTES = "SELECT note FROM notes WHERE planner = ? AND tenant_id = ? AND endpoint_id = ?"
