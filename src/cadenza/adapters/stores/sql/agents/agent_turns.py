"""Turns that wait for the answers of agents, in rows."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import orjson

from cadenza.adapters.stores.common import not_found
from cadenza.adapters.stores.sql.agents.users_agents import GET_AGENT, GET_USER
from cadenza.adapters.stores.sql.database import BATCH, NOTIFY, Connection, Database, delete_in_batches
from cadenza.adapters.stores.sql.rows import Read, Row, document
from cadenza.adapters.stores.wakeup import agent_topic
from cadenza.domain.agents.agent_turn import (
    AgentTurn,
    TurnCall,
    TurnState,
    offer,
    read_answer,
    write_answer,
)
from cadenza.domain.agents.conversation import ConversationKey
from cadenza.domain.agents.users import AgentKey
from cadenza.domain.errors import CadenzaError
from cadenza.ports.agents import Callback
from cadenza.ports.own_agents.turns import TurnChange

TURN = """
id, tenant_id, user_id, agent_id, payload, created_at, expires_at, state, token, earlier_tokens, lease_until,
attempts, calls, answer, refused_answers
"""
GET = f"SELECT {TURN} FROM agent_turns WHERE id = $1"
LOCK = f"{GET} FOR UPDATE"
ADD = f"""
INSERT INTO agent_turns ({TURN})
SELECT $1::text, u.tenant_id, u.id, a.id, $5::json, $6::timestamptz, $7::timestamptz, $8::text, $9::text,
    $10::json, $11::timestamptz, $12::integer, $13::json, $14::json, $15::integer
FROM users u JOIN agents a ON a.tenant_id = u.tenant_id AND a.id = $4
WHERE u.tenant_id = $2 AND u.id = $3 FOR KEY SHARE
ON CONFLICT (id) DO NOTHING RETURNING id
"""
CHANGE = """
UPDATE agent_turns SET payload = $2, expires_at = $3, state = $4, token = $5, earlier_tokens = $6,
    lease_until = $7, attempts = $8, calls = $9, answer = $10, refused_answers = $11
WHERE id = $1
"""
LOCK_TAKEABLE = f"""
SELECT {TURN} FROM agent_turns
WHERE tenant_id = $1 AND agent_id = $2 AND state <> 'answered' AND expires_at > $3
    AND (lease_until IS NULL OR lease_until <= $3)
ORDER BY created_at, id LIMIT 1 FOR UPDATE SKIP LOCKED
"""
REMOVE_OLD = """
DELETE FROM agent_turns WHERE id IN (SELECT id FROM agent_turns WHERE expires_at < $1 LIMIT $2) RETURNING id
"""
CHANGED = "turn "
"""Begins the notification that a turn was changed, or can be taken; its topic follows."""
Listen = Callable[[str, Callback], Callback]


def notified_turn(notification: str) -> str | None:
    """The topic that a notification is about: a turn or an agent; None if it is another one."""
    return notification.removeprefix(CHANGED) if notification.startswith(CHANGED) else None


class SqlAgentTurns:
    """Turns by id; a row is locked while it is decided about."""

    def __init__(self, database: Database, listen: Listen) -> None:
        self._database = database
        self._listen = listen

    async def offer_turn(self, turn: AgentTurn) -> AgentTurn:
        key = turn.conversation

        async def work(connection: Connection) -> AgentTurn:
            if await connection.fetch(ADD, *_columns(turn)):
                await _notify(connection, turn)
                return turn
            return await self._change(connection, turn.id, lambda before: offer(turn, before))

        try:
            return await self._database.write(work)
        except CadenzaError:
            if not await self._database.read(GET_USER, *key.user):
                raise not_found("user", key.user.id) from None
            if not await self._database.read(GET_AGENT, *key.agent):
                raise not_found("agent", key.agent.id) from None
            raise

    async def agent_turn(self, turn_id: str) -> AgentTurn:
        for row in await self._database.read(GET, turn_id):
            return _read(row, self._database.read_moment)
        raise not_found("turn", turn_id)

    async def amend_turn(self, turn_id: str, change: TurnChange) -> AgentTurn:
        async def work(connection: Connection) -> AgentTurn:
            return await self._change(connection, turn_id, change)

        return await self._database.write(work)

    async def take_turn(self, agent: AgentKey, *, now: datetime, change: TurnChange) -> AgentTurn | None:
        async def work(connection: Connection) -> AgentTurn | None:
            row = await connection.fetchrow(LOCK_TAKEABLE, *agent, now)
            if row is None:
                return None
            return await _write(connection, change(_read(row, self._database.read_moment)))

        return await self._database.write(work)

    def on_turn_change(self, turn_id: str, callback: Callback) -> Callback:
        return self._listen(turn_id, callback)

    def on_turn_offer(self, agent: AgentKey, callback: Callback) -> Callback:
        return self._listen(agent_topic(agent), callback)

    async def forget_turns(self, before: datetime) -> int:
        return await delete_in_batches(self._database, REMOVE_OLD, before, BATCH)

    async def _change(self, connection: Connection, turn_id: str, change: TurnChange) -> AgentTurn:
        row = await connection.fetchrow(LOCK, turn_id)
        if row is None:
            raise not_found("turn", turn_id)
        return await _write(connection, change(_read(row, self._database.read_moment)))


async def _write(connection: Connection, turn: AgentTurn) -> AgentTurn:
    id_, _, _, _, payload, _, *changed = _columns(turn)
    await connection.execute(CHANGE, id_, payload, *changed)
    await _notify(connection, turn)
    return turn


async def _notify(connection: Connection, turn: AgentTurn) -> None:
    await connection.fetch(NOTIFY, f"{CHANGED}{turn.id}")
    if turn.state is TurnState.OFFERED:
        await connection.fetch(NOTIFY, f"{CHANGED}{agent_topic(turn.conversation.agent)}")


def _columns(turn: AgentTurn) -> tuple[Any, ...]:
    """The columns `TURN`."""
    return (
        turn.id,
        *turn.conversation,
        None if turn.payload is None else document(turn.payload),
        turn.created_at,
        turn.expires_at,
        turn.state.value,
        turn.token,
        document(list(turn.earlier_tokens)),
        turn.lease_until,
        turn.attempts,
        document([call._asdict() for call in turn.calls]),
        None if turn.answer is None else document(write_answer(turn.answer)),
        turn.refused_answers,
    )


def _read(row: Row, read: Read) -> AgentTurn:
    """The turn of a row selected as `TURN`."""
    id_, tenant_id, user_id, agent_id, payload, created_at, expires_at, *changing = row
    state, token, earlier, lease_until, attempts, calls, answer, refused_answers = changing
    return AgentTurn(
        id=id_,
        conversation=ConversationKey(tenant_id, user_id, agent_id),
        payload=None if payload is None else orjson.loads(payload),
        created_at=read(created_at),
        expires_at=read(expires_at),
        state=TurnState(state),
        token=token,
        earlier_tokens=tuple(orjson.loads(earlier)),
        lease_until=read(lease_until),
        attempts=attempts,
        calls=tuple(TurnCall(**call) for call in orjson.loads(calls)),
        answer=None if answer is None else read_answer(orjson.loads(answer)),
        refused_answers=refused_answers,
    )
