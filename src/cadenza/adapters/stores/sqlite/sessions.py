"""Sessions in a SQLite file."""

import sqlite3

from cadenza.adapters.stores.sql.access_rows import read_session, write_session
from cadenza.adapters.stores.sql.rows import from_micros, to_micros
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.settle import in_micros
from cadenza.ports.access import Session

ADD = """
INSERT INTO sessions (digest, kind, tenant_id, scopes, created_at, expires_at, key_id)
VALUES (?, ?, ?, ?, ?, ?, ?)
"""
GET = """
SELECT digest, kind, tenant_id, scopes, created_at, expires_at, key_id FROM sessions WHERE digest = ?
"""
END = """
DELETE FROM sessions WHERE digest = ?
RETURNING digest, kind, tenant_id, scopes, created_at, expires_at, key_id
"""
FORGET = "DELETE FROM sessions WHERE expires_at <= ?"


class SqliteSessions:
    """Sessions by the digests of their secrets."""

    _file: SqliteFile

    async def open_session(self, session: Session) -> None:
        row, now = in_micros(write_session(session)), to_micros(session.created_at)

        def work(file: sqlite3.Connection) -> None:
            file.execute(FORGET, (now,))
            file.execute(ADD, row)

        await self._file.write(work)

    async def session(self, digest: bytes) -> Session | None:
        row = await self._file.read(lambda file: file.execute(GET, (digest,)).fetchone())
        return None if row is None else read_session(row, from_micros)

    async def end_session(self, digest: bytes) -> Session | None:
        rows = await self._file.write(lambda file: file.execute(END, (digest,)).fetchall())
        return read_session(rows[0], from_micros) if rows else None
