"""Secrets, which are sealed before they come here."""

from collections.abc import Collection
from datetime import datetime

from cadenza.adapters.stores.sql.database import Database
from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.secrets import SecretEntry, SecretKey

PUT = """
INSERT INTO secrets (tenant_id, name, sealed, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)
ON CONFLICT (tenant_id, name) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at
"""
REPLACE = """
UPDATE secrets SET sealed = $3 WHERE tenant_id = $1 AND name = $2 AND sealed = $4 RETURNING name
"""
FIND = """
SELECT s.tenant_id, s.name, s.sealed FROM unnest($1::text[], $2::text[]) AS wanted (tenant_id, name)
CROSS JOIN secrets s WHERE s.tenant_id = wanted.tenant_id AND s.name = wanted.name
"""
DELETE = "DELETE FROM secrets WHERE tenant_id = $1 AND name = $2 RETURNING name"
LIST = """
SELECT name, created_at, updated_at FROM secrets WHERE tenant_id = $1 AND name > $2 ORDER BY name LIMIT $3
"""
KEYS = """
SELECT tenant_id, name FROM secrets WHERE (tenant_id, name) > ($1, $2) ORDER BY tenant_id, name LIMIT $3
"""


class SqlSealed:
    """Sealed values of secrets; each method is one statement."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, key: SecretKey, sealed: str, *, now: datetime) -> None:
        await self._database.ask(PUT, *key, sealed, now)

    async def replace(self, key: SecretKey, sealed: str, *, instead_of: str) -> bool:
        return bool(await self._database.ask(REPLACE, *key, sealed, instead_of))

    async def find(self, keys: Collection[SecretKey]) -> dict[SecretKey, str]:
        tenant_ids, names = [key.tenant_id for key in keys], [key.name for key in keys]
        rows = await self._database.read(FIND, tenant_ids, names)
        return {SecretKey(tenant_id, name): sealed for tenant_id, name, sealed in rows}

    async def delete(self, key: SecretKey) -> bool:
        return bool(await self._database.ask(DELETE, *key))

    async def names(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[SecretEntry]:
        read = self._database.read_moment
        rows = await self._database.read(LIST, tenant_id, page.after or "", page.limit)
        return [
            SecretEntry(name, read(created_at), read(updated_at)) for name, created_at, updated_at in rows
        ]

    async def keys(self, *, limit: int, after: SecretKey | None = None) -> list[SecretKey]:
        rows = await self._database.read(KEYS, *(after or ("", "")), limit)
        return [SecretKey(*row) for row in rows]
