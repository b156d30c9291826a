"""Keeping what a turn leaves, inside the writer's transaction."""

import sqlite3
from collections.abc import Callable
from typing import TypeVar

from cadenza.adapters.stores.common import Closed, raised_in, turns_in
from cadenza.adapters.stores.sql.agent_rows import day_of, read_delivery, write_delivery, write_messages
from cadenza.adapters.stores.sql.agent_statements import SQLITE as SQL
from cadenza.adapters.stores.sql.rows import from_micros
from cadenza.adapters.stores.sql.slo_alerts import RAISE, alert_row
from cadenza.adapters.stores.sqlite.dialect import for_sqlite
from cadenza.adapters.stores.sqlite.settle import in_micros
from cadenza.domain.agents.conversation import Turn, owed_by
from cadenza.domain.agents.delivery import Delivery

Answer = TypeVar("Answer")


def speaking(
    work: Callable[[sqlite3.Connection], Answer], closed: Closed[Answer]
) -> Callable[[sqlite3.Connection], Answer]:
    """Work that closes runs, and keeps the turns that these left, and the alerts."""

    def all_of_it(connection: sqlite3.Connection) -> Answer:
        answer = work(connection)
        settled = list(closed(answer))
        for turn in turns_in(settled):
            speak(connection, turn)
        alerts = [in_micros(alert_row(alert, owed=owed)) for alert, owed in raised_in(settled)]
        if alerts:
            connection.executemany(for_sqlite(RAISE).text, alerts)
        return answer

    return all_of_it


def commit_turn(connection: sqlite3.Connection, turn: Turn) -> list[Delivery] | None:
    """Keep a turn that no run carries."""
    key = turn.conversation
    if turn.token is not None:
        (token,) = connection.execute(SQL.who_speaks, key).fetchone() or (None,)
        if token != turn.token:
            return None
    if turn.firing is not None:
        again = connection.execute(SQL.fired_before, (*key.user, turn.firing)).fetchall()
        if again:
            _end(connection, turn)
            return [read_delivery(row, from_micros) for row in again]
    return speak(connection, turn)


def speak(connection: sqlite3.Connection, turn: Turn) -> list[Delivery] | None:
    """Keep what a turn leaves; None, and then nothing, if its user is gone."""
    key = turn.conversation
    row = connection.execute(SQL.number_owed, (*key.user, len(turn.owed))).fetchone()
    if row is None:
        return None
    owed = owed_by(turn, row[0] - len(turn.owed))
    connection.executemany(SQL.add_owed, [in_micros(write_delivery(one)) for one in owed])
    (number,) = connection.execute(SQL.number_messages, (*key, len(turn.messages))).fetchone()
    connection.executemany(SQL.add_message, [in_micros(row) for row in write_messages(turn, number)])
    spent = (key.tenant_id, day_of(turn.ended_at), key.user_id, int(turn.firing is not None), turn.tokens)
    connection.execute(SQL.spend, spent)
    _end(connection, turn)
    return owed


def _end(connection: sqlite3.Connection, turn: Turn) -> None:
    if turn.token is not None:
        connection.execute(SQL.end_turn, (*turn.conversation, turn.token))
