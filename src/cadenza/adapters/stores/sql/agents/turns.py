"""Writing turns with their messages and deliveries, in the transaction of the caller.

The rows of users are locked in the order of their keys, after those of endpoints and before those of
conversations: so no two transactions wait for each other.
"""

from collections.abc import Iterable
from datetime import UTC
from operator import itemgetter
from typing import Any

from cadenza.adapters.stores.common import alerts_of, notes_of_probes, turns_of
from cadenza.adapters.stores.sql.agents.deliveries import ADD, OF_FIRING, read_delivery, write_delivery
from cadenza.adapters.stores.sql.agents.users_agents import LOCK_USER
from cadenza.adapters.stores.sql.database import NOTIFY, Connection
from cadenza.adapters.stores.sql.monitoring.slo_alerts import RAISE, alert_row
from cadenza.adapters.stores.sql.planning.analyses import SAVE_NOTES
from cadenza.adapters.stores.sql.rows import Read, document, storable
from cadenza.adapters.stores.sql.scheduling.endpoints import ADD_HINT
from cadenza.domain.agents.conversation import Message, Turn, deliveries_of
from cadenza.domain.agents.delivery import Delivery
from cadenza.domain.agents.probe import NOTES_OWNER
from cadenza.domain.agents.users import UserKey
from cadenza.domain.scheduling.settle import SettledRun

CONVERSATION = "tenant_id, user_id, agent_id"
MESSAGE = "id, role, text, at, origin, parts"
LOCK_TURN = """
SELECT turn_token FROM conversations WHERE tenant_id = $1 AND user_id = $2 AND agent_id = $3
FOR NO KEY UPDATE
"""
END_TURN = """
UPDATE conversations SET turn_token = NULL, turn_until = NULL
WHERE tenant_id = $1 AND user_id = $2 AND agent_id = $3 AND turn_token = $4
"""
NUMBER_DELIVERIES = """
UPDATE users SET last_seq = last_seq + $3 WHERE tenant_id = $1 AND id = $2 RETURNING last_seq
"""
NUMBER_MESSAGES = f"""
INSERT INTO conversations AS c ({CONVERSATION}, last_number)
SELECT a.tenant_id, $2::text, a.id, $4::bigint FROM agents a
WHERE a.tenant_id = $1 AND a.id = $3 FOR KEY SHARE
ON CONFLICT ({CONVERSATION}) DO UPDATE SET last_number = c.last_number + excluded.last_number
RETURNING last_number
"""
ADD_MESSAGE = f"""
INSERT INTO conversation_messages ({CONVERSATION}, number, turn_at, {MESSAGE})
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
"""
ADD_USAGE = """
INSERT INTO agent_usage AS u (tenant_id, day, user_id, fires, tokens) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (tenant_id, day, user_id) DO UPDATE
SET fires = u.fires + excluded.fires, tokens = u.tokens + excluded.tokens
"""
COME_DUE = """
UPDATE user_channels SET due_at = CASE WHEN due_at IS NULL THEN $3 ELSE due_at END
WHERE tenant_id = $1 AND user_id = $2
"""
"""It locks the row also where it changes nothing: a decision that finds no message must see this one."""
DELIVERY = "owed "


def notification_for(user: UserKey) -> str:
    """What is notified when there is something to deliver to a user."""
    return f"{DELIVERY}{user.tenant_id}\n{user.id}"


def notified_user(notification: str) -> UserKey | None:
    """The user that there is something to deliver to; None if the notification is another one."""
    if not notification.startswith(DELIVERY):
        return None
    return UserKey(*notification.removeprefix(DELIVERY).split("\n", 1))


async def write_effects(connection: Connection, settled: Iterable[SettledRun | None]) -> None:
    """Write what closed runs leave: turns, how they paced, alerts, answers of probes; mostly none."""
    settled = list(settled)
    for turn in sorted(turns_of(settled), key=lambda turn: turn.conversation):
        await write_turn(connection, turn)
    paced = [(*one.endpoint.key, *line) for one in settled if one is not None for line in one.paced]
    if paced:
        await connection.executemany(ADD_HINT, paced)
    alerts = [alert_row(alert) for alert in alerts_of(settled)]
    if alerts:
        await connection.executemany(RAISE, sorted(alerts, key=itemgetter(0)))
    for key, note, taken_at in notes_of_probes(settled):
        row = [key.tenant_id], [key.id], [document(note)]
        await connection.execute(SAVE_NOTES, NOTES_OWNER, taken_at, *row)


async def commit_turn(connection: Connection, turn: Turn, read: Read) -> list[Delivery] | None:
    """Write a turn that no run carries, once for its firing; None if its user or its token is not valid."""
    key = turn.conversation
    if not await connection.fetch(LOCK_USER, *key.user):
        return None
    if turn.token is not None and await connection.fetchval(LOCK_TURN, *key) != turn.token:
        return None
    if turn.firing is not None:
        written = await connection.fetch(OF_FIRING, *key.user, turn.firing)
        if written:
            await _end_turn(connection, turn)
            return [read_delivery(row, read) for row in written]
    return await write_turn(connection, turn)


async def write_turn(connection: Connection, turn: Turn) -> list[Delivery] | None:
    """Write a turn with its messages and deliveries; None, and then nothing, if its user is removed."""
    key = turn.conversation
    last_seq = await connection.fetchval(NUMBER_DELIVERIES, *key.user, len(turn.to_deliver))
    if last_seq is None:
        return None
    deliveries = deliveries_of(turn, last_seq - len(turn.to_deliver))
    if deliveries:
        await connection.executemany(ADD, [write_delivery(one) for one in deliveries])
        await connection.fetch(NOTIFY, notification_for(key.user))
        if not turn.delivered_in_response:
            await connection.execute(COME_DUE, *key.user, turn.ended_at)
    if turn.messages:
        number = await connection.fetchval(NUMBER_MESSAGES, *key, len(turn.messages))
        if number is not None:  # Otherwise its agent was removed, and its conversations with it.
            await connection.executemany(ADD_MESSAGE, _messages(turn, number))
    day = turn.ended_at.astimezone(UTC).date().isoformat()
    fired = int(turn.firing is not None)
    await connection.execute(ADD_USAGE, key.tenant_id, day, key.user_id, fired, turn.tokens)
    await _end_turn(connection, turn)
    return deliveries


async def _end_turn(connection: Connection, turn: Turn) -> None:
    if turn.token is not None:
        await connection.execute(END_TURN, *turn.conversation, turn.token)


def _messages(turn: Turn, last_number: int) -> list[tuple[Any, ...]]:
    """The rows of a turn's messages, numbered so that the last has the last number."""
    first = last_number - len(turn.messages) + 1
    return [
        (*turn.conversation, number, turn.began_at, *_message(message))
        for number, message in enumerate(turn.messages, first)
    ]


def _message(message: Message) -> tuple[Any, ...]:
    """The columns `MESSAGE`."""
    parts = None if message.parts is None else document(message.parts)
    origin = document({**message.origin._asdict(), "kind": message.origin.kind.value})
    return (message.id, message.role.value, storable(message.text), message.at, origin, parts)
