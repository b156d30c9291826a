"""Replies and rates in a SQLite file."""

import sqlite3
from datetime import datetime

from cadenza.adapters.access.rate_limiter import oldest_kept
from cadenza.adapters.stores.sql.access_rows import read_reply
from cadenza.adapters.stores.sql.retention import BATCH, delete_in_steps
from cadenza.adapters.stores.sql.rows import from_micros, to_micros
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.settle import in_micros
from cadenza.ports.access import Reply

FIND = "SELECT fingerprint, began_at, status, body FROM replies WHERE tenant_id = ? AND key = ?"
KEEP = """
INSERT INTO replies (tenant_id, key, fingerprint, began_at, status, body) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant_id, key) DO UPDATE SET fingerprint = excluded.fingerprint,
    began_at = excluded.began_at, status = excluded.status, body = excluded.body
"""
TAKE = f"{KEEP} WHERE replies.status IS NULL AND replies.began_at < ?"
DROP = "DELETE FROM replies WHERE tenant_id = ? AND key = ?"
FORGET = """
DELETE FROM replies WHERE rowid IN (SELECT rowid FROM replies WHERE began_at < ? ORDER BY began_at LIMIT ?)
"""
DRAW = """
INSERT INTO rates (window, subject, drawn) VALUES (?, ?, ?)
ON CONFLICT (window, subject) DO UPDATE SET drawn = drawn + excluded.drawn RETURNING drawn
"""
FORGET_WINDOWS = "DELETE FROM rates WHERE window < ?"


class SqliteReplies:
    """Answers that are kept, and rates."""

    _file: SqliteFile

    async def begin_reply(
        self, tenant_id: str, key: str, reply: Reply, *, stale_before: datetime
    ) -> Reply | None:
        row = in_micros((tenant_id, key, *reply, stale_before))

        def work(file: sqlite3.Connection) -> Reply | None:
            if file.execute(TAKE, row).rowcount:
                return None
            return read_reply(file.execute(FIND, (tenant_id, key)).fetchone(), from_micros)

        return await self._file.write(work)

    async def end_reply(self, tenant_id: str, key: str, reply: Reply) -> None:
        row = in_micros((tenant_id, key, *reply))
        await self._file.write(lambda file: file.execute(KEEP, row))

    async def drop_reply(self, tenant_id: str, key: str) -> None:
        await self._file.write(lambda file: file.execute(DROP, (tenant_id, key)))

    async def forget_replies(self, before: datetime) -> int:
        return await delete_in_steps(self._file, FORGET, to_micros(before), BATCH)

    async def draw(self, subject: str, *, window: int, amount: int) -> int:
        def work(file: sqlite3.Connection) -> int:
            (drawn,) = file.execute(DRAW, (window, subject, amount)).fetchone()
            if drawn == amount:  # The first in its window: time has moved on.
                file.execute(FORGET_WINDOWS, (oldest_kept(window),))
            return int(drawn)

        return await self._file.write(work)
