"""Keeping what turns leave, in the transaction of the caller.

The rows of users are taken in the order of their keys, after those of endpoints
and before those of conversations: so nobody waits for somebody who waits for them.
"""

from operator import itemgetter
from typing import TypeVar

from cadenza.adapters.stores.common import Closed, raised_in, turns_in
from cadenza.adapters.stores.postgres.arrays import as_it_is
from cadenza.adapters.stores.postgres.pool import Connection, Work
from cadenza.adapters.stores.sql.agent_rows import day_of, read_delivery, write_delivery, write_messages
from cadenza.adapters.stores.sql.agent_statements import POSTGRES as SQL
from cadenza.adapters.stores.sql.database import NOTIFY
from cadenza.adapters.stores.sql.slo_alerts import RAISE, alert_row
from cadenza.domain.agents.conversation import Turn, owed_by
from cadenza.domain.agents.delivery import Delivery
from cadenza.domain.agents.users import UserKey

Answer = TypeVar("Answer")
OWED = "owed "


def call_for(user: UserKey) -> str:
    """What is called out when something is owed to a user."""
    return f"{OWED}{user.tenant_id}\n{user.id}"


def called_for(call: str) -> UserKey:
    """For whom it is that something is called out."""
    return UserKey(*call.removeprefix(OWED).split("\n", 1))


def speaking(work: Work[Answer], closed: Closed[Answer]) -> Work[Answer]:
    """Work that closes runs, and keeps the turns that these left, and the alerts."""

    async def all_of_it(connection: Connection) -> Answer:
        answer = await work(connection)
        settled = list(closed(answer))
        for turn in sorted(turns_in(settled), key=lambda turn: turn.conversation):
            await speak(connection, turn)
        alerts = [alert_row(alert, owed=owed) for alert, owed in raised_in(settled)]
        if alerts:
            await connection.executemany(RAISE, sorted(alerts, key=itemgetter(0)))
        return answer

    return all_of_it


async def commit_turn(connection: Connection, turn: Turn) -> list[Delivery] | None:
    """Keep a turn that no run carries."""
    key = turn.conversation
    if not await connection.fetch(SQL.hold_user, *key.user):
        return None
    if turn.token is not None and await connection.fetchval(SQL.who_speaks, *key) != turn.token:
        return None
    if turn.firing is not None:
        again = await connection.fetch(SQL.fired_before, *key.user, turn.firing)
        if again:
            await _end(connection, turn)
            return [read_delivery(row, as_it_is) for row in again]
    return await speak(connection, turn)


async def speak(connection: Connection, turn: Turn) -> list[Delivery] | None:
    """Keep what a turn leaves; None, and then nothing, if its user is gone."""
    key = turn.conversation
    last_seq = await connection.fetchval(SQL.number_owed, *key.user, len(turn.owed))
    if last_seq is None:
        return None
    owed = owed_by(turn, last_seq - len(turn.owed))
    if owed:
        await connection.executemany(SQL.add_owed, [write_delivery(one) for one in owed])
        await connection.fetch(NOTIFY, call_for(key.user))
    if turn.messages:
        number = await connection.fetchval(SQL.number_messages, *key, len(turn.messages))
        await connection.executemany(SQL.add_message, write_messages(turn, number))
    fired = int(turn.firing is not None)
    await connection.execute(SQL.spend, key.tenant_id, day_of(turn.ended_at), key.user_id, fired, turn.tokens)
    await _end(connection, turn)
    return owed


async def _end(connection: Connection, turn: Turn) -> None:
    if turn.token is not None:
        await connection.execute(SQL.end_turn, *turn.conversation, turn.token)
