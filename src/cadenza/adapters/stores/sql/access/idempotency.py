"""Replies to requests that carried an idempotency key, and counters of request rates."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from cadenza.adapters.access.rate_limiter import oldest_kept
from cadenza.adapters.stores.sql.database import BATCH, Database, delete_in_batches
from cadenza.adapters.stores.sql.rows import Read, Row
from cadenza.ports.access import Answering, IdempotentReply

FIND = "SELECT fingerprint, began_at, status, body FROM replies WHERE tenant_id = $1 AND key = $2"
PUT = """
INSERT INTO replies AS r (tenant_id, key, fingerprint, began_at, status, body)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (tenant_id, key) DO UPDATE SET fingerprint = excluded.fingerprint,
    began_at = excluded.began_at, status = excluded.status, body = excluded.body
"""
BEGIN = f"{PUT} WHERE r.status IS NULL AND r.began_at < $7 RETURNING key"
OF_REQUEST = "r.status IS NULL AND r.fingerprint = $3 AND r.began_at = $4"
"""A key that this request reserved: whoever takes over what a crash left has begun later."""
KEEP = f"{PUT} WHERE r.status IS NULL AND r.began_at < $7 OR {OF_REQUEST} RETURNING key"
DROP = f"DELETE FROM replies AS r WHERE tenant_id = $1 AND key = $2 AND {OF_REQUEST}"
DELETE_OLD = """
DELETE FROM replies WHERE (tenant_id, key) IN (
    SELECT tenant_id, key FROM replies WHERE began_at < $1 ORDER BY began_at LIMIT $2
) RETURNING key
"""
DRAW = """
INSERT INTO rates AS r ("window", subject, drawn) VALUES ($1, $2, $3)
ON CONFLICT ("window", subject) DO UPDATE SET drawn = r.drawn + excluded.drawn RETURNING drawn
"""
DELETE_OLD_WINDOWS = 'DELETE FROM rates WHERE "window" < $1'


class _KeyTaken(Exception):
    """Another request stored its reply first: what this one wrote is rolled back."""


class SqlReplies:
    """Replies by tenant and idempotency key."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._decode = partial(_first_reply, read=database.read_moment)

    async def find_reply(self, tenant_id: str, key: str) -> IdempotentReply | None:
        return await self._database.read_by_key(FIND, tenant_id, key, decode=self._decode)

    async def keep_reply(
        self, tenant_id: str, key: str, begun: IdempotentReply, *, answer: Answering, stale_before: datetime
    ) -> IdempotentReply | None:
        async def answer_and_keep() -> None:
            if not await self._database.ask(KEEP, tenant_id, key, *await answer(), stale_before):
                raise _KeyTaken

        there = await self.find_reply(tenant_id, key)
        while there is None or there == begun or there.left_by_crash(stale_before):
            try:
                return await self._database.in_one_commit(answer_and_keep)
            except _KeyTaken:
                there = await self.find_reply(tenant_id, key)
        return there

    async def begin_reply(
        self, tenant_id: str, key: str, reply: IdempotentReply, *, stale_before: datetime
    ) -> IdempotentReply | None:
        while not await self._database.ask(BEGIN, tenant_id, key, *reply, stale_before):
            if (there := await self.find_reply(tenant_id, key)) is not None:
                return there
            # The request that had the key gave it back between the two statements.
        return None

    async def drop_reply(self, tenant_id: str, key: str, reply: IdempotentReply) -> None:
        await self._database.ask(DROP, tenant_id, key, reply.fingerprint, reply.began_at)

    async def forget_replies(self, before: datetime) -> int:
        return await delete_in_batches(self._database, DELETE_OLD, before, BATCH)


def _first_reply(rows: Sequence[Row], read: Read) -> IdempotentReply | None:
    for fingerprint, began_at, status, body in rows:
        return IdempotentReply(fingerprint, read(began_at), status, body)
    return None


class SqlRates:
    """How much each subject has drawn in each rate window."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def draw(self, subject: str, *, window: int, amount: int) -> int:
        ((drawn,),) = await self._database.ask(DRAW, window, subject, amount)
        if drawn == amount:  # The first in its window: older windows can go.
            await self._database.ask(DELETE_OLD_WINDOWS, oldest_kept(window))
        return int(drawn)
