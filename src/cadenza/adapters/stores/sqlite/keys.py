"""Keys in a SQLite file."""

import sqlite3
from collections.abc import Collection

import orjson

from cadenza.adapters.stores.common import missing, taken
from cadenza.adapters.stores.sql.access_rows import read_key, write_key
from cadenza.adapters.stores.sql.rows import from_micros
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.settle import in_micros
from cadenza.domain.access.key import ApiKey
from cadenza.ports.access import KeptKey
from cadenza.ports.catalog import FIRST_PAGE, Page

ADD = """
INSERT INTO keys (id, tenant_id, name, digest, scopes, created_at, expires_at, user_id)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
READ = "SELECT id, tenant_id, name, digest, scopes, created_at, expires_at, user_id FROM keys"
KEPT = f"{READ} WHERE id = ?"
STILL_KEPT = f"{READ} WHERE id IN (SELECT value FROM json_each(?))"
LIST = f"{READ} WHERE tenant_id = ? AND id > ? AND user_id IS NULL ORDER BY id LIMIT ?"
FORGET = "DELETE FROM keys WHERE tenant_id = ? AND user_id IS NOT NULL AND expires_at <= ?"
REMOVE = "DELETE FROM keys WHERE tenant_id = ? AND id = ?"


class SqliteKeys:
    """Keys that let callers in."""

    _file: SqliteFile

    async def add_key(self, kept: KeptKey) -> None:
        key, row = kept.key, in_micros(write_key(kept))
        expired = in_micros((key.tenant_id, key.created_at))

        def work(file: sqlite3.Connection) -> None:
            if key.user_id is not None:
                file.execute(FORGET, expired)
            try:
                file.execute(ADD, row)
            except sqlite3.IntegrityError:
                raise taken("key", key.id) from None

        await self._file.write(work)

    async def kept_key(self, key_id: str) -> KeptKey | None:
        row = await self._file.read(lambda file: file.execute(KEPT, (key_id,)).fetchone())
        return None if row is None else read_key(row, from_micros)

    async def still_kept(self, key_ids: Collection[str]) -> list[ApiKey]:
        asked = (orjson.dumps(list(key_ids)).decode(),)
        rows = await self._file.read(lambda file: file.execute(STILL_KEPT, asked).fetchall())
        return [read_key(row, from_micros).key for row in rows]

    async def keys(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[ApiKey]:
        wanted = (tenant_id, page.after or "", page.limit)
        rows = await self._file.read(lambda file: file.execute(LIST, wanted).fetchall())
        return [read_key(row, from_micros).key for row in rows]

    async def remove_key(self, tenant_id: str, key_id: str) -> None:
        removed = await self._file.write(lambda file: file.execute(REMOVE, (tenant_id, key_id)).rowcount)
        if not removed:
            raise missing("key", key_id)
