"""Every statement of the PostgreSQL store, by its name, but for those that each cycle needs."""

from cadenza.adapters.stores.postgres.arrays import assigned, given
from cadenza.adapters.stores.sql.database import CHANNEL
from cadenza.adapters.stores.sql.rows import OWNED, READ, WRITTEN
from cadenza.domain.scheduling.run import Run

READ_ROW = (
    f"SELECT {', '.join(READ)} FROM endpoint_states s"
    " JOIN endpoints e ON e.tenant_id = s.tenant_id AND e.id = s.endpoint_id"
)
GET = f"{READ_ROW} WHERE s.tenant_id = $1 AND s.endpoint_id = $2"
# Both rows: one that is not locked is read as it was before the wait.
GET_LOCKED = f"{GET} FOR UPDATE OF s, e"
GET_MANY_LOCKED = (
    f"{READ_ROW} JOIN unnest($1::text[], $2::text[]) AS k (tenant_id, id)"
    " ON s.tenant_id = k.tenant_id AND s.endpoint_id = k.id"
    " ORDER BY s.tenant_id, s.endpoint_id FOR UPDATE OF s, e"
)
ADD_ENDPOINTS = (
    f"INSERT INTO endpoints ({', '.join(OWNED)})"
    f" SELECT {', '.join(OWNED[:-1])}, definition::json FROM {given('g', *OWNED)}"
    " ON CONFLICT DO NOTHING RETURNING id"
)
VERSION = "(pg_current_xact_id()::text)::bigint"
"""A version that no endpoint had before: not another one that was deleted and had the same id, nor the same
one before a dump was restored into its server. Workers remember by it what owners wrote."""
ADD_STATE = (
    f"INSERT INTO endpoint_states (tenant_id, endpoint_id, version, {', '.join(WRITTEN)})"
    f" SELECT g.tenant_id, g.endpoint_id, {VERSION}, {', '.join(f'g.{column}' for column in WRITTEN)}"
    f" FROM {given('g', 'tenant_id', 'endpoint_id', *WRITTEN)}"
)
DEFINE = (
    f"UPDATE endpoints e SET {assigned('g', *OWNED[2:-1])}, definition = g.definition::json"
    f" FROM {given('g', *OWNED)} WHERE e.tenant_id = g.tenant_id AND e.id = g.id"
)
STEER = (
    f"UPDATE endpoint_states s SET {assigned('g', *WRITTEN)}, version = greatest(s.version + 1, {VERSION})"
    f" FROM {given('g', 'tenant_id', 'endpoint_id', *WRITTEN)}"
    " WHERE s.tenant_id = g.tenant_id AND s.endpoint_id = g.endpoint_id"
)
ADD_RUNS = (
    f"INSERT INTO runs ({', '.join(Run._fields)})"
    f" SELECT {', '.join(f'g.{column}' for column in Run._fields)} FROM {given('g', *Run._fields)}"
)
ADD_HINT = (
    "INSERT INTO hints"
    " (tenant_id, endpoint_id, kind, written_at, origin, reason, expires_at, interval_ms, at)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
)
RING = f"SELECT pg_notify('{CHANNEL}', '')"

RENEW = "UPDATE leases SET until = $1 WHERE token = ANY ($2::text[])"
HELD = "SELECT run_id FROM endpoint_states WHERE lease_token = ANY ($1::text[])"
EXPIRED = "SELECT token FROM leases WHERE until <= $1 ORDER BY token LIMIT $2 FOR UPDATE SKIP LOCKED"
LEASED = (
    f"{READ_ROW} WHERE s.lease_token = ANY ($1::text[])"
    " ORDER BY s.tenant_id, s.endpoint_id LIMIT $2 FOR UPDATE OF s, e SKIP LOCKED"
)
END_LEASES = (
    "DELETE FROM leases WHERE token = ANY ($1::text[]) AND NOT EXISTS"
    " (SELECT FROM endpoint_states WHERE lease_token = leases.token)"
)
STALE = f"{READ_ROW} WHERE s.tidy_at <= $1 ORDER BY s.tidy_at LIMIT $2 FOR UPDATE OF s, e SKIP LOCKED"
ANY_DUE = "SELECT FROM endpoint_states WHERE claimable_at <= $1 ORDER BY claimable_at LIMIT 1"
NEXT_DUE = (
    "SELECT claimable_at FROM endpoint_states WHERE claimable_at IS NOT NULL ORDER BY claimable_at LIMIT 1"
)

RUN = f"SELECT {', '.join(Run._fields)} FROM runs WHERE tenant_id = $1 AND id = $2"
# By the leases, which are few; the endpoints of a tenant may be many.
OPEN_RUN = (
    f"SELECT {', '.join(READ)} FROM leases l JOIN endpoint_states s ON s.lease_token = l.token"
    " JOIN endpoints e ON e.tenant_id = s.tenant_id AND e.id = s.endpoint_id"
    " WHERE s.tenant_id || '' = $1 AND s.run_id = $2"
)
RUNS = (
    f"SELECT {', '.join(Run._fields)} FROM runs WHERE tenant_id = $1 AND endpoint_id = $2 AND id < $3"
    " ORDER BY id DESC LIMIT $4"
)
HINTS = (
    "SELECT kind, written_at, origin, reason, expires_at, interval_ms, at FROM hints"
    " WHERE tenant_id = $1 AND endpoint_id = $2 ORDER BY id DESC LIMIT $3 OFFSET $4"
)
