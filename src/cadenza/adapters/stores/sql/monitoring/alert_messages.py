"""Messages about conditions in rows, and when to send them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from cadenza.adapters.stores.sql.database import Connection, Database
from cadenza.adapters.stores.sql.monitoring.slo_alerts import alert_row, read_alert
from cadenza.adapters.stores.sql.rows import Read, Row
from cadenza.domain.monitoring.alert_message import AlertMessage
from cadenza.ports.alerting import MessageToSend

MESSAGE = "key, tenant_id, route_id, condition_id, alert_key, kind, state, text, raised_at, facts"
ADD = f"""
INSERT INTO alert_messages ({MESSAGE}, due_at, attempts)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0) ON CONFLICT (key) DO NOTHING
"""
LOCK_DUE = """
SELECT m.key FROM alert_messages m WHERE m.due_at <= $1 AND ($3 OR m.route_id <> '') AND NOT EXISTS (
    SELECT 1 FROM alert_messages o
    WHERE o.tenant_id = m.tenant_id AND o.condition_id = m.condition_id AND o.route_id = m.route_id
        AND o.raised_at < m.raised_at
)
ORDER BY m.raised_at, m.key LIMIT $2 FOR UPDATE OF m SKIP LOCKED
"""
TAKE = f"""
UPDATE alert_messages SET due_at = $1, attempts = attempts + 1 WHERE key = ANY ($2::text[])
RETURNING {MESSAGE}, attempts
"""
SEND_AGAIN = "UPDATE alert_messages SET due_at = $1 WHERE key = $2"
REMOVE = "DELETE FROM alert_messages WHERE key = $1"
DELETE_OLD = "DELETE FROM alert_messages WHERE raised_at < $1"


class SqlAlertMessages:
    """Messages that are sent until they are accepted."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def take_messages(
        self, *, now: datetime, until: datetime, limit: int, default: bool = True
    ) -> list[MessageToSend]:
        async def work(connection: Connection) -> Sequence[Row]:
            due = [row[0] for row in await connection.fetch(LOCK_DUE, now, limit, default)]
            return await connection.fetch(TAKE, until, due) if due else []

        rows = await self._database.write(work)
        taken = [_read(row, self._database.read_moment) for row in rows]
        return sorted(taken, key=lambda one: (one.message.alert.raised_at, one.message.key))

    async def settle_message(self, key: str, again_at: datetime | None) -> None:
        if again_at is None:
            await self._database.ask(REMOVE, key)
        else:
            await self._database.ask(SEND_AGAIN, again_at, key)

    async def forget_messages(self, before: datetime) -> None:
        await self._database.ask(DELETE_OLD, before)


def message_row(message: AlertMessage, due_at: datetime) -> tuple[Any, ...]:
    """The columns that `ADD` writes."""
    about = (message.key, message.tenant_id, message.route_id, message.condition_id)
    return (*about, *alert_row(message.alert), due_at)


def _read(row: Row, read: Read) -> MessageToSend:
    _, tenant_id, route_id, condition_id, *alert, attempts = row
    message = AlertMessage(
        tenant_id=tenant_id,
        route_id=route_id,
        condition_id=condition_id,
        alert=read_alert(alert, read),
    )
    return MessageToSend(message, attempts)
