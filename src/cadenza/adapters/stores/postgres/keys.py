"""Keys in PostgreSQL."""

from collections.abc import Collection

from cadenza.adapters.stores.common import missing, taken
from cadenza.adapters.stores.postgres.arrays import as_it_is
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.sql.access_rows import read_key, write_key
from cadenza.domain.access.key import ApiKey
from cadenza.ports.access import KeptKey
from cadenza.ports.catalog import FIRST_PAGE, Page

ADD = """
INSERT INTO keys (id, tenant_id, name, digest, scopes, created_at, expires_at, user_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING RETURNING id
"""
READ = "SELECT id, tenant_id, name, digest, scopes, created_at, expires_at, user_id FROM keys"
KEPT = f"{READ} WHERE id = $1"
STILL_KEPT = f"{READ} WHERE id = ANY ($1::text[])"
LIST = f"{READ} WHERE tenant_id = $1 AND id > $2 AND user_id IS NULL ORDER BY id LIMIT $3"
FORGET = "DELETE FROM keys WHERE tenant_id = $1 AND user_id IS NOT NULL AND expires_at <= $2"
REMOVE = "DELETE FROM keys WHERE tenant_id = $1 AND id = $2 RETURNING id"


class PostgresKeys:
    """Keys that let callers in."""

    _pool: PostgresPool

    async def add_key(self, kept: KeptKey) -> None:
        if kept.key.user_id is not None:
            await self._pool.ask(FORGET, kept.key.tenant_id, kept.key.created_at)
        if not await self._pool.ask(ADD, *write_key(kept)):
            raise taken("key", kept.key.id)

    async def kept_key(self, key_id: str) -> KeptKey | None:
        rows = await self._pool.ask(KEPT, key_id)
        return read_key(rows[0], as_it_is) if rows else None

    async def still_kept(self, key_ids: Collection[str]) -> list[ApiKey]:
        rows = await self._pool.ask(STILL_KEPT, list(key_ids))
        return [read_key(row, as_it_is).key for row in rows]

    async def keys(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[ApiKey]:
        rows = await self._pool.ask(LIST, tenant_id, page.after or "", page.limit)
        return [read_key(row, as_it_is).key for row in rows]

    async def remove_key(self, tenant_id: str, key_id: str) -> None:
        if not await self._pool.ask(REMOVE, tenant_id, key_id):
            raise missing("key", key_id)
