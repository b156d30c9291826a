"""Sealed values in PostgreSQL."""

from collections.abc import Collection
from datetime import datetime

from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.secrets import SecretEntry, SecretKey

PUT = """
INSERT INTO secrets (tenant_id, name, sealed, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)
ON CONFLICT (tenant_id, name) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at
"""
REPLACE = "UPDATE secrets SET sealed = $3 WHERE tenant_id = $1 AND name = $2 AND sealed = $4 RETURNING name"
FIND = """
SELECT tenant_id, name, sealed FROM secrets
JOIN unnest($1::text[], $2::text[]) AS wanted (tenant_id, name) USING (tenant_id, name)
"""
DELETE = "DELETE FROM secrets WHERE tenant_id = $1 AND name = $2 RETURNING name"
NAMES = """
SELECT name, created_at, updated_at FROM secrets WHERE tenant_id = $1 AND name > $2 ORDER BY name LIMIT $3
"""
KEYS = """
SELECT tenant_id, name FROM secrets WHERE (tenant_id, name) > ($1, $2) ORDER BY tenant_id, name LIMIT $3
"""


class PostgresSealed:
    """Each method is one statement."""

    def __init__(self, pool: PostgresPool) -> None:
        self._pool = pool

    async def put(self, key: SecretKey, sealed: str, *, now: datetime) -> None:
        await self._pool.ask(PUT, *key, sealed, now)

    async def replace(self, key: SecretKey, sealed: str, *, instead_of: str) -> bool:
        return bool(await self._pool.ask(REPLACE, *key, sealed, instead_of))

    async def find(self, keys: Collection[SecretKey]) -> dict[SecretKey, str]:
        tenants, names = [key.tenant_id for key in keys], [key.name for key in keys]
        return {SecretKey(*row[:2]): row[2] for row in await self._pool.ask(FIND, tenants, names)}

    async def delete(self, key: SecretKey) -> bool:
        return bool(await self._pool.ask(DELETE, *key))

    async def names(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[SecretEntry]:
        return [
            SecretEntry(*row) for row in await self._pool.ask(NAMES, tenant_id, page.after or "", page.limit)
        ]

    async def keys(self, *, limit: int, after: SecretKey | None = None) -> list[SecretKey]:
        return [SecretKey(*row) for row in await self._pool.ask(KEYS, *(after or ("", "")), limit)]
