"""API keys, dashboard sessions and sealed secrets."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from cadenza.adapters.stores.common import missing, taken
from cadenza.adapters.stores.sql.database import Connection, Database
from cadenza.adapters.stores.sql.rows import Read, Row
from cadenza.domain.access.key import ApiKey, Scope
from cadenza.ports.access import KeptKey, Pass, Session
from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.secrets import SecretEntry, SecretKey

KEY = "id, tenant_id, name, digest, scopes, created_at, expires_at, user_id"
ADD_KEY = f"""
INSERT INTO keys ({KEY}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING RETURNING id
"""
GET_KEY = f"SELECT {KEY} FROM keys WHERE id = $1"
GET_KEYS = f"SELECT {KEY} FROM keys WHERE id = ANY ($1::text[])"
LIST_KEYS = f"""
SELECT {KEY} FROM keys WHERE tenant_id = $1 AND id > $2 AND user_id IS NULL ORDER BY id LIMIT $3
"""
REMOVE_EXPIRED_KEYS = "DELETE FROM keys WHERE tenant_id = $1 AND user_id IS NOT NULL AND expires_at <= $2"
REMOVE_KEY = "DELETE FROM keys WHERE tenant_id = $1 AND id = $2 RETURNING id"


class SqlKeys:
    """API keys and users' tokens, in a table of either database."""

    _database: Database

    async def add_key(self, kept: KeptKey) -> None:
        key = kept.key

        async def work(connection: Connection) -> None:
            if key.user_id is not None:
                await connection.execute(REMOVE_EXPIRED_KEYS, key.tenant_id, key.created_at)
            if not await connection.fetch(ADD_KEY, *_key_row(kept)):
                raise taken("key", key.id)

        await self._database.write(work)

    async def kept_key(self, key_id: str) -> KeptKey | None:
        rows = await self._database.read(GET_KEY, key_id)
        return _read_key(rows[0], self._database.read_moment) if rows else None

    async def still_kept(self, key_ids: Collection[str]) -> list[ApiKey]:
        rows = await self._database.read(GET_KEYS, list(key_ids))
        return [_read_key(row, self._database.read_moment).key for row in rows]

    async def keys(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[ApiKey]:
        rows = await self._database.read(LIST_KEYS, tenant_id, page.after or "", page.limit)
        return [_read_key(row, self._database.read_moment).key for row in rows]

    async def remove_key(self, tenant_id: str, key_id: str) -> None:
        if not await self._database.ask(REMOVE_KEY, tenant_id, key_id):
            raise missing("key", key_id)


def _key_row(kept: KeptKey) -> tuple[Any, ...]:
    """The columns `KEY`."""
    key = kept.key
    scopes = " ".join(sorted(key.scopes))
    return (key.id, key.tenant_id, key.name, kept.digest, scopes, key.created_at, key.expires_at, key.user_id)


def _read_key(row: Row, read: Read) -> KeptKey:
    id_, tenant_id, name, digest, scopes, created_at, expires_at, user_id = row
    key = ApiKey(
        id=id_,
        tenant_id=tenant_id,
        name=name,
        scopes=_read_scopes(scopes),
        created_at=read(created_at),
        expires_at=read(expires_at),
        user_id=user_id,
    )
    return KeptKey(key, digest)


def _read_scopes(words: str) -> frozenset[Scope]:
    return frozenset(map(Scope, words.split()))


SESSION = "digest, kind, tenant_id, scopes, created_at, expires_at, key_id"
OPEN_SESSION = f"INSERT INTO sessions ({SESSION}) VALUES ($1, $2, $3, $4, $5, $6, $7)"
GET_SESSION = f"SELECT {SESSION} FROM sessions WHERE digest = $1"
END_SESSION = f"DELETE FROM sessions WHERE digest = $1 RETURNING {SESSION}"
REMOVE_EXPIRED_SESSIONS = "DELETE FROM sessions WHERE expires_at <= $1"


class SqlSessions:
    """Dashboard sessions and login links, by the digests of their secrets."""

    _database: Database

    async def open_session(self, session: Session) -> None:
        digest, kind, tenant_id, scopes, *rest = session
        row = (digest, kind.value, tenant_id, " ".join(sorted(scopes)), *rest)

        async def work(connection: Connection) -> None:
            await connection.execute(REMOVE_EXPIRED_SESSIONS, session.created_at)
            await connection.execute(OPEN_SESSION, *row)

        await self._database.write(work)

    async def session(self, digest: bytes) -> Session | None:
        rows = await self._database.read(GET_SESSION, digest)
        return _read_session(rows[0], self._database.read_moment) if rows else None

    async def end_session(self, digest: bytes) -> Session | None:
        rows = await self._database.ask(END_SESSION, digest)
        return _read_session(rows[0], self._database.read_moment) if rows else None


def _read_session(row: Row, read: Read) -> Session:
    digest, kind, tenant_id, scopes, created_at, expires_at, key_id = row
    return Session(
        digest, Pass(kind), tenant_id, _read_scopes(scopes), read(created_at), read(expires_at), key_id
    )


PUT_SEALED = """
INSERT INTO secrets (tenant_id, name, sealed, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)
ON CONFLICT (tenant_id, name) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at
"""
REPLACE_SEALED = """
UPDATE secrets SET sealed = $3 WHERE tenant_id = $1 AND name = $2 AND sealed = $4 RETURNING name
"""
FIND_SEALED = """
SELECT s.tenant_id, s.name, s.sealed FROM unnest($1::text[], $2::text[]) AS wanted (tenant_id, name)
CROSS JOIN secrets s WHERE s.tenant_id = wanted.tenant_id AND s.name = wanted.name
"""
DELETE_SEALED = "DELETE FROM secrets WHERE tenant_id = $1 AND name = $2 RETURNING name"
LIST_SEALED = """
SELECT name, created_at, updated_at FROM secrets WHERE tenant_id = $1 AND name > $2 ORDER BY name LIMIT $3
"""
SEALED_KEYS = """
SELECT tenant_id, name FROM secrets WHERE (tenant_id, name) > ($1, $2) ORDER BY tenant_id, name LIMIT $3
"""


class SqlSealed:
    """Sealed values of secrets; each method is one statement."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, key: SecretKey, sealed: str, *, now: datetime) -> None:
        await self._database.ask(PUT_SEALED, *key, sealed, now)

    async def replace(self, key: SecretKey, sealed: str, *, instead_of: str) -> bool:
        return bool(await self._database.ask(REPLACE_SEALED, *key, sealed, instead_of))

    async def find(self, keys: Collection[SecretKey]) -> dict[SecretKey, str]:
        tenant_ids, names = [key.tenant_id for key in keys], [key.name for key in keys]
        rows = await self._database.read(FIND_SEALED, tenant_ids, names)
        return {SecretKey(tenant_id, name): sealed for tenant_id, name, sealed in rows}

    async def delete(self, key: SecretKey) -> bool:
        return bool(await self._database.ask(DELETE_SEALED, *key))

    async def names(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[SecretEntry]:
        read = self._database.read_moment
        rows = await self._database.read(LIST_SEALED, tenant_id, page.after or "", page.limit)
        return [
            SecretEntry(name, read(created_at), read(updated_at)) for name, created_at, updated_at in rows
        ]

    async def keys(self, *, limit: int, after: SecretKey | None = None) -> list[SecretKey]:
        rows = await self._database.read(SEALED_KEYS, *(after or ("", "")), limit)
        return [SecretKey(*row) for row in rows]
