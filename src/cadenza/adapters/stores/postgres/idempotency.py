"""Replies and rates in PostgreSQL."""

from datetime import datetime

from cadenza.adapters.access.rate_limiter import oldest_kept
from cadenza.adapters.stores.postgres.arrays import as_it_is
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.sql.access_rows import read_reply
from cadenza.ports.access import Reply

FIND = "SELECT fingerprint, began_at, status, body FROM replies WHERE tenant_id = $1 AND key = $2"
KEEP = """
INSERT INTO replies AS r (tenant_id, key, fingerprint, began_at, status, body)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (tenant_id, key) DO UPDATE SET fingerprint = excluded.fingerprint,
    began_at = excluded.began_at, status = excluded.status, body = excluded.body
"""
TAKE = f"{KEEP} WHERE r.status IS NULL AND r.began_at < $7 RETURNING key"
DROP = "DELETE FROM replies WHERE tenant_id = $1 AND key = $2"
FORGET = """
WITH gone AS (DELETE FROM replies WHERE began_at < $1 RETURNING key) SELECT count(*) FROM gone
"""
DRAW = """
INSERT INTO rates AS r ("window", subject, drawn) VALUES ($1, $2, $3)
ON CONFLICT ("window", subject) DO UPDATE SET drawn = r.drawn + excluded.drawn RETURNING drawn
"""
FORGET_WINDOWS = 'DELETE FROM rates WHERE "window" < $1'


class PostgresReplies:
    """Answers that are kept, and rates."""

    _pool: PostgresPool

    async def begin_reply(
        self, tenant_id: str, key: str, reply: Reply, *, stale_before: datetime
    ) -> Reply | None:
        while not await self._pool.ask(TAKE, tenant_id, key, *reply, stale_before):
            rows = await self._pool.ask(FIND, tenant_id, key)
            if rows:
                return read_reply(rows[0], as_it_is)
            # Whoever had it has just given it back.
        return None

    async def end_reply(self, tenant_id: str, key: str, reply: Reply) -> None:
        await self._pool.ask(KEEP, tenant_id, key, *reply)

    async def drop_reply(self, tenant_id: str, key: str) -> None:
        await self._pool.ask(DROP, tenant_id, key)

    async def forget_replies(self, before: datetime) -> int:
        rows = await self._pool.ask(FORGET, before)
        return int(rows[0][0])

    async def draw(self, subject: str, *, window: int, amount: int) -> int:
        ((drawn,),) = await self._pool.ask(DRAW, window, subject, amount)
        if drawn == amount:  # The first in its window: time has moved on.
            await self._pool.ask(FORGET_WINDOWS, oldest_kept(window))
        return int(drawn)
