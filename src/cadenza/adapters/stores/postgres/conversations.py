"""Conversations and what is owed to users, in PostgreSQL."""

from collections.abc import Collection, Mapping
from datetime import datetime
from functools import partial

from cadenza.adapters.stores.common import missing
from cadenza.adapters.stores.memory.wakeup import Ring
from cadenza.adapters.stores.postgres.arrays import as_it_is
from cadenza.adapters.stores.postgres.listen_notify import Listener
from cadenza.adapters.stores.postgres.pool import Connection, PostgresPool
from cadenza.adapters.stores.postgres.turns import commit_turn
from cadenza.adapters.stores.sql.agent_rows import day_of, read_delivery, read_said
from cadenza.adapters.stores.sql.agent_statements import POSTGRES as SQL
from cadenza.adapters.stores.sql.retention import BATCH
from cadenza.domain.agents.conversation import ConversationKey, Message, Turn
from cadenza.domain.agents.delivery import Delivery
from cadenza.domain.agents.users import UserKey
from cadenza.ports.catalog import FIRST_PAGE, Page

ENDLESS = 2**62
LAST_SEQS = (
    "SELECT u.tenant_id, u.id, u.last_seq FROM unnest($1::text[], $2::text[]) AS k (tenant_id, id)"
    " JOIN users u ON u.tenant_id = k.tenant_id AND u.id = k.id"
)


class PostgresConversations:
    """What was said, who may speak, and what is owed."""

    _pool: PostgresPool
    _listener: Listener

    async def begin_turn(self, key: ConversationKey, *, token: str, now: datetime, until: datetime) -> bool:
        if await self._pool.ask(SQL.begin_turn, *key, token, until, now):
            return True
        if not await self._pool.ask(SQL.get_user, *key.user):
            raise missing("user", key.user.id)
        if not await self._pool.ask(SQL.get_agent, *key.agent):
            raise missing("agent", key.agent.id)
        return False

    async def renew_turn(self, key: ConversationKey, *, token: str, until: datetime) -> bool:
        return bool(await self._pool.ask(SQL.renew_turn, *key, token, until))

    async def end_turn(self, key: ConversationKey, *, token: str) -> None:
        await self._pool.ask(SQL.end_turn, *key, token)

    async def commit_turn(self, turn: Turn) -> list[Delivery] | None:
        return await self._pool.write(partial(commit_turn, turn=turn))

    async def context(self, key: ConversationKey, limit: int) -> list[Message]:
        return [read_said(row, as_it_is) for row in await self._pool.ask(SQL.context, *key, limit)]

    async def messages(self, key: ConversationKey, page: Page = FIRST_PAGE) -> list[Message]:
        rows = await self._pool.ask(SQL.messages, *key, page.after, page.limit)
        return [read_said(row, as_it_is) for row in rows]

    async def reset_context(self, user: UserKey, now: datetime) -> None:
        await self._pool.ask(SQL.reset, *user, now)

    async def forget_messages(self, before: datetime) -> int:
        await self._pool.ask(SQL.forget_usage, day_of(before))
        return await self._forget(SQL.forget_said, before)

    async def deliveries(
        self, user: UserKey, *, after: int, upto: int | None = None, limit: int, now: datetime
    ) -> list[Delivery]:
        return await self._owed(SQL.deliveries, *user, after, ENDLESS if upto is None else upto, now, limit)

    async def owed(
        self, user: UserKey, *, after: int, upto: int | None = None, limit: int, now: datetime
    ) -> list[Delivery]:
        return await self._owed(SQL.owed, *user, after, ENDLESS if upto is None else upto, now, limit)

    async def owed_firings(self, user: UserKey, now: datetime) -> int:
        return int((await self._pool.ask(SQL.owed_firings, *user, now))[0][0])

    async def acknowledge(self, user: UserKey, upto: int) -> int:
        return len(await self._pool.ask(SQL.acknowledge, *user, upto))

    async def last_seqs(self, users: Collection[UserKey]) -> Mapping[UserKey, int]:
        keys = ([user.tenant_id for user in users], [user.id for user in users])
        return {UserKey(row[0], row[1]): row[2] for row in await self._pool.ask(LAST_SEQS, *keys)}

    def on_owed(self, user: UserKey, ring: Ring) -> Ring:
        return self._listener.on_owed(user, ring)

    async def forget_deliveries(self, *, delivered_before: datetime, now: datetime) -> int:
        expired = await self._forget(SQL.forget_expired, now)
        return expired + await self._forget(SQL.forget_delivered, delivered_before)

    async def _forget(self, statement: str, before: datetime) -> int:
        """Delete in steps, each a commit of its own: nobody waits long, and none is too large to be done."""

        async def step(connection: Connection) -> int:
            return _gone(await connection.execute(statement, before, BATCH))

        gone = 0
        while deleted := await self._pool.write(step):
            gone += deleted
        return gone

    async def _owed(self, statement: str, *asked: object) -> list[Delivery]:
        return [read_delivery(row, as_it_is) for row in await self._pool.ask(statement, *asked)]


def _gone(status: str) -> int:
    """How many rows a deletion took."""
    return int(status.rpartition(" ")[2])
