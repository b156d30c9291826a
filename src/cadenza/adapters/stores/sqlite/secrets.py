"""Sealed values in a SQLite file."""

import sqlite3
from collections.abc import Collection
from datetime import datetime

from cadenza.adapters.stores.sql.rows import Read, from_micros, to_micros
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.secrets import SecretEntry, SecretKey

PUT = """
INSERT INTO secrets (tenant_id, name, sealed, created_at, updated_at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (tenant_id, name) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at
"""
REPLACE = "UPDATE secrets SET sealed = ? WHERE tenant_id = ? AND name = ? AND sealed = ?"
FIND = "SELECT sealed FROM secrets WHERE tenant_id = ? AND name = ?"
DELETE = "DELETE FROM secrets WHERE tenant_id = ? AND name = ?"
NAMES = """
SELECT name, created_at, updated_at FROM secrets WHERE tenant_id = ? AND name > ? ORDER BY name LIMIT ?
"""
KEYS = """
SELECT tenant_id, name FROM secrets WHERE (tenant_id, name) > (?, ?) ORDER BY tenant_id, name LIMIT ?
"""
MOMENT: Read = from_micros


class SqliteSealed:
    """Each method is one transaction of the file's single writer, or a read beside it."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file

    async def put(self, key: SecretKey, sealed: str, *, now: datetime) -> None:
        moment = to_micros(now)
        await self._file.write(lambda file: file.execute(PUT, (*key, sealed, moment, moment)))

    async def replace(self, key: SecretKey, sealed: str, *, instead_of: str) -> bool:
        return await self._file.write(
            lambda file: file.execute(REPLACE, (sealed, *key, instead_of)).rowcount > 0
        )

    async def find(self, keys: Collection[SecretKey]) -> dict[SecretKey, str]:
        def work(file: sqlite3.Connection) -> dict[SecretKey, str]:
            return {key: row[0] for key in keys for row in file.execute(FIND, key)}

        return await self._file.read(work)

    async def delete(self, key: SecretKey) -> bool:
        return await self._file.write(lambda file: file.execute(DELETE, key).rowcount > 0)

    async def names(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[SecretEntry]:
        wanted = (tenant_id, page.after or "", page.limit)
        rows = await self._file.read(lambda file: file.execute(NAMES, wanted).fetchall())
        return [SecretEntry(name, MOMENT(made), MOMENT(changed)) for name, made, changed in rows]

    async def keys(self, *, limit: int, after: SecretKey | None = None) -> list[SecretKey]:
        wanted = (*(after or ("", "")), limit)
        return [
            SecretKey(*row)
            for row in await self._file.read(lambda file: file.execute(KEYS, wanted).fetchall())
        ]
