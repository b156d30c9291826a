"""Messages that are to be delivered to users."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from functools import partial
from typing import Any

import orjson

from cadenza.adapters.stores.sql.database import BATCH, Connection, Database, delete_in_batches
from cadenza.adapters.stores.sql.rows import Read, Row, document
from cadenza.domain.agents.delivery import Delivery, Missed, read_message, write_message
from cadenza.domain.agents.users import UserKey
from cadenza.ports.agents import Callback
from cadenza.ports.alerting import SocketReservation

NO_END = 2**62
DELIVERY = (
    "id, tenant_id, user_id, seq, agent_id, message, created_at, schedule_id, firing, delivered, channel"
)
"""In the order of the fields of `Delivery`."""
ADD = f"INSERT INTO pending_messages ({DELIVERY}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
OF_FIRING = f"""
SELECT {DELIVERY} FROM pending_messages WHERE tenant_id = $1 AND user_id = $2 AND firing = $3 ORDER BY seq
"""
BETWEEN = f"""
SELECT {DELIVERY} FROM pending_messages
WHERE tenant_id = $1 AND user_id = $2 AND seq > $3 AND seq <= $4
"""
LIST = f"{BETWEEN} AND channel IS NULL ORDER BY seq LIMIT $5"
LIST_UNDELIVERED = f"{BETWEEN} AND NOT delivered ORDER BY seq LIMIT $5"
MISSED = """
SELECT count(DISTINCT m.firing), max(u.expired_messages) FROM users u
LEFT JOIN pending_messages m
    ON m.tenant_id = u.tenant_id AND m.user_id = u.id AND m.seq > u.sent_seq AND NOT m.delivered
WHERE u.tenant_id = $1 AND u.id = $2
"""
MARK_SENT = """
UPDATE users SET sent_seq = CASE WHEN sent_seq < $3 THEN $3 ELSE sent_seq END,
    expired_messages = CASE WHEN expired_messages < $4 THEN 0 ELSE expired_messages - $4 END
WHERE tenant_id = $1 AND id = $2 AND (sent_seq < $3 OR (expired_messages > 0 AND $4 > 0)) RETURNING id
"""
COUNT_EXPIRED = "UPDATE users SET expired_messages = expired_messages + $3 WHERE tenant_id = $1 AND id = $2"
ACKNOWLEDGE = """
UPDATE pending_messages SET delivered = true
WHERE tenant_id = $1 AND user_id = $2 AND seq <= $3 AND NOT delivered RETURNING seq
"""
RESERVED = "SELECT due_at, claim_until FROM user_channels WHERE tenant_id = $1 AND user_id = $2"
LOCK_RESERVED = f"{RESERVED} FOR UPDATE"
RESERVE = """
UPDATE user_channels SET due_at = $3, claim_token = NULL, claim_until = NULL
WHERE tenant_id = $1 AND user_id = $2
"""
LAST_SEQS = """
SELECT u.tenant_id, u.id, u.last_seq FROM unnest($1::text[], $2::text[]) AS k (tenant_id, id)
JOIN users u ON u.tenant_id = k.tenant_id AND u.id = k.id
"""
REMOVE_EXPIRED = """
DELETE FROM pending_messages WHERE (tenant_id, user_id, seq) IN (
    SELECT tenant_id, user_id, seq FROM pending_messages WHERE NOT delivered AND created_at < $1 LIMIT $2
) RETURNING tenant_id, user_id
"""
REMOVE_DELIVERED = """
DELETE FROM pending_messages WHERE (tenant_id, user_id, seq) IN (
    SELECT tenant_id, user_id, seq FROM pending_messages WHERE delivered AND created_at < $1 LIMIT $2
) RETURNING seq
"""


class SqlDeliveries:
    """Messages that are to be delivered to users, numbered for each user."""

    def __init__(self, database: Database, listen_for_user: Callable[[UserKey, Callback], Callback]) -> None:
        self._database = database
        self._listen_for_user = listen_for_user

    async def deliveries(
        self, user: UserKey, *, after: int, upto: int | None = None, limit: int
    ) -> list[Delivery]:
        rows = await self._database.read(LIST, *user, after, NO_END if upto is None else upto, limit)
        return [read_delivery(row, self._database.read_moment) for row in rows]

    async def undelivered(
        self, user: UserKey, *, after: int, upto: int | None = None, limit: int
    ) -> list[Delivery]:
        upto = NO_END if upto is None else upto
        rows = await self._database.read(LIST_UNDELIVERED, *user, after, upto, limit)
        return [read_delivery(row, self._database.read_moment) for row in rows]

    async def reserve_for_socket(self, user: UserKey, *, now: datetime, until: datetime) -> SocketReservation:
        async def work(connection: Connection) -> SocketReservation:
            row = await connection.fetchrow(LOCK_RESERVED, *user)
            if row is None:
                return SocketReservation(uses_channels=False)
            due_at, sending_until = map(self._database.read_moment, row)
            if sending_until is not None and sending_until > now:
                return SocketReservation(uses_channels=True, sending_until=sending_until)
            await connection.execute(RESERVE, *user, until if due_at is None else max(due_at, until))
            return SocketReservation(uses_channels=True)

        for row in await self._database.read(RESERVED, *user):
            due_at, sending_until = map(self._database.read_moment, row)
            if sending_until is None and due_at is not None and due_at - now >= (until - now) / 2:
                return SocketReservation(uses_channels=True)
            return await self._database.write(work)
        return SocketReservation(uses_channels=False)

    async def missed(self, user: UserKey) -> Missed:
        ((firings, expired),) = await self._database.read(MISSED, *user)
        return Missed(firings, expired or 0)

    async def mark_sent(self, user: UserKey, upto: int, *, expired: int = 0) -> None:
        await self._database.ask(MARK_SENT, *user, upto, expired)

    async def acknowledge(self, user: UserKey, upto: int) -> int:
        return len(await self._database.ask(ACKNOWLEDGE, *user, upto))

    async def last_seqs(self, users: Collection[UserKey]) -> Mapping[UserKey, int]:
        columns = ([user.tenant_id for user in users], [user.id for user in users])
        return {UserKey(row[0], row[1]): row[2] for row in await self._database.read(LAST_SEQS, *columns)}

    def on_new_delivery(self, user: UserKey, callback: Callback) -> Callback:
        return self._listen_for_user(user, callback)

    async def forget_deliveries(
        self, *, delivered_before: datetime, undelivered_before: datetime | None = None
    ) -> int:
        await delete_in_batches(self._database, REMOVE_DELIVERED, delivered_before, BATCH)
        expired = 0
        while undelivered_before is not None:
            batch = await self._database.write(partial(_expire, before=undelivered_before))
            expired += batch
            if batch < BATCH:
                break
        return expired


async def _expire(connection: Connection, before: datetime) -> int:
    """Remove undelivered messages from before a moment, and count them for their users."""
    expired = Counter((row[0], row[1]) for row in await connection.fetch(REMOVE_EXPIRED, before, BATCH))
    await connection.executemany(COUNT_EXPIRED, sorted((*user, count) for user, count in expired.items()))
    return expired.total()


def write_delivery(delivery: Delivery) -> tuple[Any, ...]:
    """The columns `DELIVERY`."""
    return (*delivery[:5], document(write_message(delivery.message)), *delivery[6:])


def read_delivery(row: Row, read: Read) -> Delivery:
    """The delivery of a row selected as `DELIVERY`."""
    one = Delivery(*row)
    return one._replace(
        message=read_message(orjson.loads(row[5])),
        owed_at=read(one.owed_at),
        delivered=bool(one.delivered),
    )
