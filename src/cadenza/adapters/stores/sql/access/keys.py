"""API keys, and the tokens of users."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import lru_cache, partial
from typing import Any

from cadenza.adapters.stores.common import already_exists, not_found
from cadenza.adapters.stores.sql.database import KEYS, NOTIFY, Connection, Database
from cadenza.adapters.stores.sql.rows import Read, Row
from cadenza.domain.access.key import ApiKey, Scope
from cadenza.ports.access import StoredKey
from cadenza.ports.catalog import FIRST_PAGE, Page

KEY = "id, tenant_id, name, digest, scopes, created_at, expires_at, user_id, made_by"
ADD_KEY = f"""
INSERT INTO keys ({KEY}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING RETURNING id
"""
MOVED_TO = "SELECT other FROM moves WHERE moves.tenant_id = keys.tenant_id AND phase = 'moved'"
GET_KEY = f"SELECT {KEY}, ({MOVED_TO} LIMIT 1) FROM keys WHERE id = $1"
GET_KEYS = f"SELECT {KEY} FROM keys WHERE id = ANY ($1::text[]) AND NOT EXISTS ({MOVED_TO})"
LIST_KEYS = f"""
SELECT {KEY} FROM keys WHERE tenant_id = $1 AND id > $2 AND user_id IS NULL ORDER BY id LIMIT $3
"""
GET_USER_KEY_SHARE = "SELECT id FROM users WHERE tenant_id = $1 AND id = $2 FOR KEY SHARE"
REMOVE_EXPIRED_KEYS = "DELETE FROM keys WHERE tenant_id = $1 AND user_id IS NOT NULL AND expires_at <= $2"
LOCK_KEY = "SELECT id FROM keys WHERE id = $1 FOR KEY SHARE"
REMOVE_TOKENS = "DELETE FROM keys WHERE tenant_id = $1 AND made_by = $2"
REMOVE_KEY = "DELETE FROM keys WHERE tenant_id = $1 AND id = $2 RETURNING id"


MOST_REMEMBERED = 1_000


class SqlKeys:
    """API keys and users' tokens, in a table of either database."""

    def __init__(self, database: Database, count_removals: Callable[[], Awaitable[int]]) -> None:
        self._database = database
        self._decode = partial(_first_key, read=database.read_moment)
        self._count_removals = count_removals

    async def add_key(self, stored: StoredKey) -> None:
        key = stored.key

        async def work(connection: Connection) -> None:
            if key.user_id is not None:
                if not await connection.fetch(GET_USER_KEY_SHARE, key.tenant_id, key.user_id):
                    raise not_found("user", key.user_id)
                await connection.execute(REMOVE_EXPIRED_KEYS, key.tenant_id, key.created_at)
            if key.made_by is not None and not await connection.fetch(LOCK_KEY, key.made_by):
                raise not_found("key", key.made_by)
            if not await connection.fetch(ADD_KEY, *_key_row(stored)):
                raise already_exists("key", key.id)

        await self._database.write(work)

    async def stored_key(self, key_id: str) -> StoredKey | None:
        return await self._database.read_by_key(GET_KEY, key_id, decode=self._decode)

    async def existing_keys(self, key_ids: Collection[str]) -> list[ApiKey]:
        rows = await self._database.read(GET_KEYS, list(key_ids))
        return [_read_key(row, self._database.read_moment).key for row in rows]

    async def keys(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[ApiKey]:
        rows = await self._database.read(LIST_KEYS, tenant_id, page.after or "", page.limit)
        return [_read_key(row, self._database.read_moment).key for row in rows]

    async def remove_key(self, tenant_id: str, key_id: str) -> None:
        async def work(connection: Connection) -> None:
            if not await connection.fetch(REMOVE_KEY, tenant_id, key_id):
                raise not_found("key", key_id)
            await connection.execute(REMOVE_TOKENS, tenant_id, key_id)
            await connection.fetch(NOTIFY, KEYS)

        await self._database.write(work)

    async def removals(self) -> int:
        return await self._count_removals()


def _key_row(stored: StoredKey) -> tuple[Any, ...]:
    """The columns `KEY`."""
    key = stored.key
    scopes = " ".join(sorted(key.scopes))
    return (
        key.id,
        key.tenant_id,
        key.name,
        stored.digest,
        scopes,
        key.created_at,
        key.expires_at,
        key.user_id,
        key.made_by,
    )


def _first_key(rows: Sequence[Row], read: Read) -> StoredKey | None:
    return _read_key(rows[0], read) if rows else None


def _read_key(row: Row, read: Read) -> StoredKey:
    """The key of a row; remembered, since a client sends the same with every request."""
    return _remembered(tuple(row), read)


@lru_cache(maxsize=MOST_REMEMBERED)
def _remembered(row: tuple[Any, ...], read: Read) -> StoredKey:
    id_, tenant_id, name, digest, scopes, created_at, expires_at, user_id, made_by, *moved_to = row
    key = ApiKey(
        id=id_,
        tenant_id=tenant_id,
        name=name,
        scopes=read_scopes(scopes),
        created_at=read(created_at),
        expires_at=read(expires_at),
        user_id=user_id,
        made_by=made_by,
    )
    return StoredKey(key, digest, *moved_to)


def read_scopes(words: str) -> frozenset[Scope]:
    """The scopes in a column, which are separated by spaces."""
    return frozenset(map(Scope, words.split()))
