"""Messages of conversations, and which process has the turn in one."""

from datetime import UTC, datetime
from typing import Any

import orjson

from cadenza.adapters.stores.common import not_found
from cadenza.adapters.stores.sql.agents.turns import CONVERSATION, END_TURN, MESSAGE, commit_turn
from cadenza.adapters.stores.sql.agents.users_agents import GET_AGENT, GET_USER
from cadenza.adapters.stores.sql.database import BATCH, Connection, Database, delete_in_batches
from cadenza.adapters.stores.sql.rows import Read, Row
from cadenza.domain.agents.conversation import ConversationKey, Message, Origin, OriginKind, Role, Turn
from cadenza.domain.agents.delivery import Delivery
from cadenza.domain.agents.users import UserKey
from cadenza.ports.catalog import FIRST_PAGE, Page

OF_CONVERSATION = "tenant_id = $1 AND user_id = $2 AND agent_id = $3"
BEGIN_TURN = f"""
INSERT INTO conversations ({CONVERSATION}, turn_token, turn_until)
SELECT u.tenant_id, u.id, a.id, $4::text, $5::timestamptz
FROM users u JOIN agents a ON a.tenant_id = u.tenant_id AND a.id = $3
WHERE u.tenant_id = $1 AND u.id = $2 FOR KEY SHARE
ON CONFLICT ({CONVERSATION}) DO UPDATE
SET turn_token = excluded.turn_token, turn_until = excluded.turn_until
WHERE conversations.turn_token IS NULL OR conversations.turn_token = excluded.turn_token
    OR conversations.turn_until <= $6::timestamptz
RETURNING user_id
"""
RENEW_TURN = f"""
UPDATE conversations SET turn_until = $5 WHERE {OF_CONVERSATION} AND turn_token = $4 RETURNING user_id
"""
CONTEXT = f"""
SELECT {MESSAGE} FROM (
    SELECT * FROM conversation_messages WHERE {OF_CONVERSATION} ORDER BY number DESC LIMIT $4
) AS newest WHERE NOT EXISTS (
    SELECT 1 FROM users u WHERE u.tenant_id = $1 AND u.id = $2 AND u.context_reset_at > newest.turn_at
) ORDER BY number
"""
LIST = f"""
SELECT {MESSAGE} FROM conversation_messages WHERE {OF_CONVERSATION} AND number < coalesce(
    (SELECT number FROM conversation_messages WHERE {OF_CONVERSATION} AND id = $4), 4611686018427387904
) ORDER BY number DESC LIMIT $5
"""
RESET_CONTEXT = """
UPDATE users SET context_reset_at = $3 WHERE tenant_id = $1 AND id = $2
    AND (context_reset_at IS NULL OR context_reset_at < $3)
"""
REMOVE_OLD = """
DELETE FROM conversation_messages WHERE (tenant_id, user_id, agent_id, number) IN (
    SELECT tenant_id, user_id, agent_id, number FROM conversation_messages WHERE at < $1 LIMIT $2
) RETURNING number
"""
REMOVE_OLD_USAGE = "DELETE FROM agent_usage WHERE day < $1"


class SqlConversations:
    """Conversations of users with agents; one process at a time has the turn."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def begin_turn(self, key: ConversationKey, *, token: str, now: datetime, until: datetime) -> bool:
        if await self._database.ask(BEGIN_TURN, *key, token, until, now):
            return True
        if not await self._database.read(GET_USER, *key.user):
            raise not_found("user", key.user.id)
        if not await self._database.read(GET_AGENT, *key.agent):
            raise not_found("agent", key.agent.id)
        return False

    async def renew_turn(self, key: ConversationKey, *, token: str, until: datetime) -> bool:
        return bool(await self._database.ask(RENEW_TURN, *key, token, until))

    async def end_turn(self, key: ConversationKey, *, token: str) -> None:
        await self._database.ask(END_TURN, *key, token)

    async def commit_turn(self, turn: Turn) -> list[Delivery] | None:
        async def work(connection: Connection) -> list[Delivery] | None:
            return await commit_turn(connection, turn, self._database.read_moment)

        return await self._database.write(work)

    async def context(self, key: ConversationKey, limit: int) -> list[Message]:
        rows = await self._database.read(CONTEXT, *key, limit)
        return [_read_message(row, self._database.read_moment) for row in rows]

    async def messages(self, key: ConversationKey, page: Page = FIRST_PAGE) -> list[Message]:
        rows = await self._database.read(LIST, *key, page.after, page.limit)
        return [_read_message(row, self._database.read_moment) for row in rows]

    async def reset_context(self, user: UserKey, now: datetime) -> None:
        await self._database.ask(RESET_CONTEXT, *user, now)

    async def forget_messages(self, before: datetime) -> int:
        await self._database.ask(REMOVE_OLD_USAGE, before.astimezone(UTC).date().isoformat())
        return await delete_in_batches(self._database, REMOVE_OLD, before, BATCH)


def _read_message(row: Row, read: Read) -> Message:
    """The message of a row selected as `MESSAGE`."""
    id_, role, text, at, origin, parts = row
    return Message(
        id=id_,
        role=Role(role),
        text=text,
        at=read(at),
        origin=_read_origin(orjson.loads(origin)),
        parts=None if parts is None else orjson.loads(parts),
    )


def _read_origin(written: dict[str, Any]) -> Origin:
    due_at = written.pop("due_at")
    kind = OriginKind(written.pop("kind"))
    return Origin(kind=kind, due_at=None if due_at is None else datetime.fromisoformat(due_at), **written)
