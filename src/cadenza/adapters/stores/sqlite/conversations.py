"""Conversations and what is owed to users, in a SQLite file."""

import sqlite3
from collections.abc import Collection, Mapping
from datetime import datetime
from functools import partial

from cadenza.adapters.stores.common import missing
from cadenza.adapters.stores.memory.wakeup import Doorbells, Ring
from cadenza.adapters.stores.sql.agent_rows import day_of, read_delivery, read_said
from cadenza.adapters.stores.sql.agent_statements import SQLITE as SQL
from cadenza.adapters.stores.sql.retention import BATCH, delete_in_steps
from cadenza.adapters.stores.sql.rows import from_micros, to_micros
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.turns import commit_turn
from cadenza.domain.agents.conversation import ConversationKey, Message, Turn
from cadenza.domain.agents.delivery import Delivery
from cadenza.domain.agents.users import UserKey
from cadenza.ports.catalog import FIRST_PAGE, Page

ENDLESS = 2**62


class SqliteConversations:
    """What was said, who may speak, and what is owed."""

    _file: SqliteFile
    _doorbells: Doorbells

    async def begin_turn(self, key: ConversationKey, *, token: str, now: datetime, until: datetime) -> bool:
        asked = (*key, token, to_micros(until), to_micros(now))
        return await self._file.write(partial(_begin_turn, key=key, asked=asked))

    async def renew_turn(self, key: ConversationKey, *, token: str, until: datetime) -> bool:
        asked = (*key, token, to_micros(until))
        return bool(await self._file.write(lambda file: file.execute(SQL.renew_turn, asked).fetchall()))

    async def end_turn(self, key: ConversationKey, *, token: str) -> None:
        await self._file.write(lambda file: file.execute(SQL.end_turn, (*key, token)))

    async def commit_turn(self, turn: Turn) -> list[Delivery] | None:
        owed = await self._file.write(partial(commit_turn, turn=turn))
        if owed:
            self._doorbells.ring([turn.conversation.user])
        return owed

    async def context(self, key: ConversationKey, limit: int) -> list[Message]:
        asked = (*key, limit)
        rows = await self._file.read(lambda file: file.execute(SQL.context, asked).fetchall())
        return [read_said(row, from_micros) for row in rows]

    async def messages(self, key: ConversationKey, page: Page = FIRST_PAGE) -> list[Message]:
        asked = (*key, page.after, page.limit)
        rows = await self._file.read(lambda file: file.execute(SQL.messages, asked).fetchall())
        return [read_said(row, from_micros) for row in rows]

    async def reset_context(self, user: UserKey, now: datetime) -> None:
        await self._file.write(lambda file: file.execute(SQL.reset, (*user, to_micros(now))))

    async def forget_messages(self, before: datetime) -> int:
        await self._file.write(lambda file: file.execute(SQL.forget_usage, (day_of(before),)))
        return await delete_in_steps(self._file, SQL.forget_said, to_micros(before), BATCH)

    async def deliveries(
        self, user: UserKey, *, after: int, upto: int | None = None, limit: int, now: datetime
    ) -> list[Delivery]:
        return await self._owed(
            SQL.deliveries, (*user, after, ENDLESS if upto is None else upto, to_micros(now), limit)
        )

    async def owed(
        self, user: UserKey, *, after: int, upto: int | None = None, limit: int, now: datetime
    ) -> list[Delivery]:
        upto = ENDLESS if upto is None else upto
        return await self._owed(SQL.owed, (*user, after, upto, to_micros(now), limit))

    async def owed_firings(self, user: UserKey, now: datetime) -> int:
        asked = (*user, to_micros(now))
        row = await self._file.read(lambda file: file.execute(SQL.owed_firings, asked).fetchone())
        return int(row[0])

    async def acknowledge(self, user: UserKey, upto: int) -> int:
        told = await self._file.write(lambda file: file.execute(SQL.acknowledge, (*user, upto)).fetchall())
        return len(told)

    async def last_seqs(self, users: Collection[UserKey]) -> Mapping[UserKey, int]:
        def work(file: sqlite3.Connection) -> dict[UserKey, int]:
            found = {user: file.execute(SQL.last_seq, user).fetchone() for user in users}
            return {user: row[0] for user, row in found.items() if row is not None}

        return await self._file.read(work)

    def on_owed(self, user: UserKey, ring: Ring) -> Ring:
        return self._doorbells.listen(user, ring)

    async def forget_deliveries(self, *, delivered_before: datetime, now: datetime) -> int:
        expired = await delete_in_steps(self._file, SQL.forget_expired, to_micros(now), BATCH)
        old = to_micros(delivered_before)
        return expired + await delete_in_steps(self._file, SQL.forget_delivered, old, BATCH)

    async def _owed(self, statement: str, asked: tuple[object, ...]) -> list[Delivery]:
        rows = await self._file.read(lambda file: file.execute(statement, asked).fetchall())
        return [read_delivery(row, from_micros) for row in rows]


def _begin_turn(file: sqlite3.Connection, key: ConversationKey, asked: tuple[object, ...]) -> bool:
    if file.execute(SQL.begin_turn, asked).fetchall():
        return True
    if file.execute(SQL.get_user, key.user).fetchone() is None:
        raise missing("user", key.user.id)
    if file.execute(SQL.get_agent, key.agent).fetchone() is None:
        raise missing("agent", key.agent.id)
    return False
