"""Sessions in PostgreSQL."""

from cadenza.adapters.stores.postgres.arrays import as_it_is
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.sql.access_rows import read_session, write_session
from cadenza.ports.access import Session

ADD = """
WITH over AS (DELETE FROM sessions WHERE expires_at <= $5)
INSERT INTO sessions (digest, kind, tenant_id, scopes, created_at, expires_at, key_id)
VALUES ($1, $2, $3, $4, $5, $6, $7)
"""
GET = """
SELECT digest, kind, tenant_id, scopes, created_at, expires_at, key_id FROM sessions WHERE digest = $1
"""
END = """
DELETE FROM sessions WHERE digest = $1
RETURNING digest, kind, tenant_id, scopes, created_at, expires_at, key_id
"""


class PostgresSessions:
    """Sessions by the digests of their secrets; each method is one statement."""

    _pool: PostgresPool

    async def open_session(self, session: Session) -> None:
        await self._pool.ask(ADD, *write_session(session))

    async def session(self, digest: bytes) -> Session | None:
        rows = await self._pool.ask(GET, digest)
        return read_session(rows[0], as_it_is) if rows else None

    async def end_session(self, digest: bytes) -> Session | None:
        rows = await self._pool.ask(END, digest)
        return read_session(rows[0], as_it_is) if rows else None
