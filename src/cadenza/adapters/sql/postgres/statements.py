"""Every statement of the PostgreSQL store, by its name, but for those that each cycle needs."""

from cadenza.adapters.sql.postgres.arrays import assigned, given
from cadenza.adapters.sql.rows import READ, WRITTEN
from cadenza.domain.run import Run

CHANNEL = "cadenza"

READ_ROW = (
    f"SELECT {', '.join(READ)} FROM endpoint_states s"
    " JOIN endpoints e ON e.tenant_id = s.tenant_id AND e.id = s.endpoint_id"
)
GET = f"{READ_ROW} WHERE s.tenant_id = $1 AND s.endpoint_id = $2"
GET_LOCKED = f"{GET} FOR UPDATE OF s"
GET_MANY_LOCKED = (
    f"{READ_ROW} JOIN unnest($1::text[], $2::text[]) AS k (tenant_id, id)"
    " ON s.tenant_id = k.tenant_id AND s.endpoint_id = k.id"
    " ORDER BY s.tenant_id, s.endpoint_id FOR UPDATE OF s"
)
FIND = f"{READ_ROW} WHERE e.tenant_id = $1 AND e.id > $2 ORDER BY e.id LIMIT $3"
FIND_OF_JOB = f"{READ_ROW} WHERE e.tenant_id = $1 AND e.id > $2 AND e.job_id = $4 ORDER BY e.id LIMIT $3"

ADD_ENDPOINT = (
    "INSERT INTO endpoints (tenant_id, id, job_id, name, description, definition)"
    " VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING RETURNING id"
)
ADD_STATE = (
    f"INSERT INTO endpoint_states (tenant_id, endpoint_id, version, {', '.join(WRITTEN)})"
    f" SELECT g.tenant_id, g.endpoint_id, 0, {', '.join(f'g.{column}' for column in WRITTEN)}"
    f" FROM {given('g', 'tenant_id', 'endpoint_id', *WRITTEN)}"
)
DEFINE = (
    "UPDATE endpoints SET job_id = $3, name = $4, description = $5, definition = $6"
    " WHERE tenant_id = $1 AND id = $2"
)
STEER = (
    f"UPDATE endpoint_states s SET {assigned('g', *WRITTEN)}, version = s.version + 1"
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
CHECK = f"SELECT pg_notify('{CHANNEL}', $1)"

RENEW = "UPDATE leases SET until = $1 WHERE token = ANY ($2::text[])"
HELD = "SELECT run_id FROM endpoint_states WHERE lease_token = ANY ($1::text[])"
EXPIRED = "SELECT token FROM leases WHERE until <= $1 ORDER BY token LIMIT $2 FOR UPDATE SKIP LOCKED"
LEASED = (
    f"{READ_ROW} WHERE s.lease_token = ANY ($1::text[])"
    " ORDER BY s.tenant_id, s.endpoint_id LIMIT $2 FOR UPDATE OF s SKIP LOCKED"
)
END_LEASES = (
    "DELETE FROM leases WHERE token = ANY ($1::text[]) AND NOT EXISTS"
    " (SELECT FROM endpoint_states WHERE lease_token = leases.token)"
)
STALE = f"{READ_ROW} WHERE s.tidy_at <= $1 ORDER BY s.tidy_at LIMIT $2 FOR UPDATE OF s SKIP LOCKED"
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

# Who adds an endpoint to a job and who switches the job wait for each other, or one would miss the other.
JOIN_JOB = "SELECT pg_advisory_xact_lock_shared(hashtextextended($1 || E'\\n' || $2, 0))"
HOLD_JOB = "SELECT pg_advisory_xact_lock(hashtextextended($1 || E'\\n' || $2, 0))"
ADD_JOB = (
    "INSERT INTO jobs (tenant_id, id, name, active) VALUES ($1, $2, $3, $4)"
    " ON CONFLICT DO NOTHING RETURNING id"
)
JOB = "SELECT id, name, tenant_id, active FROM jobs WHERE tenant_id = $1 AND id = $2"
ACTIVATE = "UPDATE jobs SET active = $3 WHERE tenant_id = $1 AND id = $2"
OF_JOB = (
    f"{READ_ROW} WHERE e.tenant_id = $1 AND e.job_id = $2 ORDER BY s.tenant_id, s.endpoint_id FOR UPDATE OF s"
)
