"""API keys."""

from collections.abc import Collection

from cadenza.adapters.stores.common import missing, taken
from cadenza.adapters.stores.sql.access_rows import read_key, write_key
from cadenza.adapters.stores.sql.database import Connection, Database
from cadenza.domain.access.key import ApiKey
from cadenza.ports.access import KeptKey
from cadenza.ports.catalog import FIRST_PAGE, Page

COLUMNS = "id, tenant_id, name, digest, scopes, created_at, expires_at, user_id"
ADD = f"""
INSERT INTO keys ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING RETURNING id
"""
READ = f"SELECT {COLUMNS} FROM keys"
GET = f"{READ} WHERE id = $1"
GET_MANY = f"{READ} WHERE id = ANY ($1::text[])"
LIST = f"{READ} WHERE tenant_id = $1 AND id > $2 AND user_id IS NULL ORDER BY id LIMIT $3"
REMOVE_EXPIRED = "DELETE FROM keys WHERE tenant_id = $1 AND user_id IS NOT NULL AND expires_at <= $2"
REMOVE = "DELETE FROM keys WHERE tenant_id = $1 AND id = $2 RETURNING id"


class SqlKeys:
    """API keys and users' tokens, in a table of either database."""

    _database: Database

    async def add_key(self, kept: KeptKey) -> None:
        key = kept.key

        async def work(connection: Connection) -> None:
            if key.user_id is not None:
                await connection.execute(REMOVE_EXPIRED, key.tenant_id, key.created_at)
            if not await connection.fetch(ADD, *write_key(kept)):
                raise taken("key", key.id)

        await self._database.write(work)

    async def kept_key(self, key_id: str) -> KeptKey | None:
        rows = await self._database.read(GET, key_id)
        return read_key(rows[0], self._database.read_moment) if rows else None

    async def still_kept(self, key_ids: Collection[str]) -> list[ApiKey]:
        rows = await self._database.read(GET_MANY, list(key_ids))
        return [read_key(row, self._database.read_moment).key for row in rows]

    async def keys(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[ApiKey]:
        rows = await self._database.read(LIST, tenant_id, page.after or "", page.limit)
        return [read_key(row, self._database.read_moment).key for row in rows]

    async def remove_key(self, tenant_id: str, key_id: str) -> None:
        if not await self._database.ask(REMOVE, tenant_id, key_id):
            raise missing("key", key_id)
