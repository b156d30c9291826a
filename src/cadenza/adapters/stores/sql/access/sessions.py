"""Dashboard sessions and login links."""

from collections.abc import Sequence
from functools import partial

from cadenza.adapters.stores.common import not_found
from cadenza.adapters.stores.sql.access.keys import LOCK_KEY, read_scopes
from cadenza.adapters.stores.sql.database import Connection, Database
from cadenza.adapters.stores.sql.rows import Read, Row
from cadenza.ports.access import Session, SessionKind

SESSION = "digest, kind, tenant_id, scopes, created_at, expires_at, key_id"
OPEN_SESSION = f"INSERT INTO sessions ({SESSION}) VALUES ($1, $2, $3, $4, $5, $6, $7)"
GET_SESSION = f"SELECT {SESSION} FROM sessions WHERE digest = $1"
END_SESSION = f"DELETE FROM sessions WHERE digest = $1 RETURNING {SESSION}"
REMOVE_EXPIRED_SESSIONS = "DELETE FROM sessions WHERE expires_at <= $1"


class SqlSessions:
    """Dashboard sessions and login links, by the digests of their secrets."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._decode = partial(_first_session, read=database.read_moment)

    async def open_session(self, session: Session) -> None:
        digest, kind, tenant_id, scopes, *rest = session
        row = (digest, kind.value, tenant_id, " ".join(sorted(scopes)), *rest)

        async def work(connection: Connection) -> None:
            await connection.execute(REMOVE_EXPIRED_SESSIONS, session.created_at)
            if session.key_id is not None and not await connection.fetch(LOCK_KEY, session.key_id):
                raise not_found("key", session.key_id)
            await connection.execute(OPEN_SESSION, *row)

        await self._database.write(work)

    async def session(self, digest: bytes) -> Session | None:
        return await self._database.read_by_key(GET_SESSION, digest, decode=self._decode)

    async def end_session(self, digest: bytes) -> Session | None:
        return self._decode(await self._database.ask(END_SESSION, digest))


def _first_session(rows: Sequence[Row], read: Read) -> Session | None:
    if not rows:
        return None
    digest, kind, tenant_id, scopes, created_at, expires_at, key_id = rows[0]
    return Session(
        digest, SessionKind(kind), tenant_id, read_scopes(scopes), read(created_at), read(expires_at), key_id
    )
