"""Every statement of the SQLite store, by its name."""

from cadenza.adapters.stores.sql.rows import READ, WRITTEN
from cadenza.domain.scheduling.run import Run

READ_ROW = (
    f"SELECT {', '.join(READ)} FROM endpoint_states s"
    " JOIN endpoints e ON e.tenant_id = s.tenant_id AND e.id = s.endpoint_id"
)
OF_KEY = "WHERE s.tenant_id = ? AND s.endpoint_id = ?"
FREE = "lease_token = NULL, lease_until = NULL"
STAND = ", ".join(f"{column} = ?" for column in WRITTEN)

ADD_ENDPOINT = (
    "INSERT INTO endpoints (tenant_id, id, job_id, name, description, definition) VALUES (?, ?, ?, ?, ?, ?)"
)
ADD_STATE = (
    f"INSERT INTO endpoint_states (tenant_id, endpoint_id, rank, version, {', '.join(WRITTEN)})"
    " VALUES (?, ?, (SELECT coalesce(max(rowid), 0) + 1 FROM endpoint_states), 0,"
    f" {', '.join('?' * len(WRITTEN))})"
)
GET = f"{READ_ROW} {OF_KEY}"
DEFINE = (
    "UPDATE endpoints SET job_id = ?, name = ?, description = ?, definition = ?"
    " WHERE tenant_id = ? AND id = ?"
)
STEER = f"UPDATE endpoint_states SET {STAND}, version = version + 1 WHERE tenant_id = ? AND endpoint_id = ?"

START = (
    "UPDATE endpoint_states SET run_slot = ?, run_due_at = ?, run_source = ?, run_started_at = ?"
    " WHERE tenant_id = ? AND endpoint_id = ?"
)
RENEW = "UPDATE leases SET until = ? WHERE token = ?"
HELD = "SELECT run_id FROM endpoint_states WHERE lease_token = ?"

SETTLE = f"UPDATE endpoint_states SET {STAND}, {FREE} WHERE tenant_id = ? AND endpoint_id = ?"
SETTLE_UNLESS_STEERED = f"{SETTLE} AND run_id = ? AND lease_token = ? AND version = ?"
ADD_RUN = f"INSERT INTO runs ({', '.join(Run._fields)}) VALUES ({', '.join('?' * len(Run._fields))})"
ADD_HINT = (
    "INSERT INTO hints"
    " (tenant_id, endpoint_id, kind, written_at, origin, reason, expires_at, interval_ms, at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)

EXPIRED = "SELECT token FROM leases WHERE until <= ? LIMIT ?"
LEASED = f"{READ_ROW} WHERE s.lease_token = ? LIMIT ?"
END_LEASES = (
    "DELETE FROM leases WHERE until <= ? AND NOT EXISTS"
    " (SELECT 1 FROM endpoint_states WHERE lease_token = leases.token)"
)
STALE = f"{READ_ROW} WHERE s.tidy_at <= ? ORDER BY s.tidy_at LIMIT ?"
NEXT_DUE = "SELECT min(claimable_at) FROM endpoint_states WHERE claimable_at IS NOT NULL"

RUN = f"SELECT {', '.join(Run._fields)} FROM runs WHERE tenant_id = ? AND id = ?"
OPEN_RUN_OF_TENANT = f"{READ_ROW} WHERE s.lease_token IS NOT NULL AND s.tenant_id = ? AND s.run_id = ?"
RUNS = (
    f"SELECT {', '.join(Run._fields)} FROM runs WHERE tenant_id = :tenant_id AND endpoint_id = :endpoint_id"
    " AND (:after IS NULL OR id < :after) ORDER BY id DESC LIMIT :limit"
)
HINTS = (
    "SELECT kind, written_at, origin, reason, expires_at, interval_ms, at FROM hints"
    " WHERE tenant_id = ? AND endpoint_id = ? ORDER BY id DESC LIMIT ? OFFSET ?"
)
