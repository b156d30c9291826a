"""Closing the runs of expired leases, inside the writer's transaction."""

import sqlite3
from datetime import datetime

from cadenza.adapters.stores.sql.rows import (
    from_micros,
    read_death,
    read_endpoint,
    read_open_run,
    to_micros,
    write_state,
)
from cadenza.adapters.stores.sqlite import cycle_statements as sql
from cadenza.adapters.stores.sqlite.settle import add_skipped_runs, in_micros, write_settled
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.ports.ids import Ids
from cadenza.ports.scheduling import Now, SweepRules


def sweep(
    connection: sqlite3.Connection, *, now: Now, limit: int, rules: SweepRules, ids: Ids
) -> list[SettledRun]:
    """Abandon the runs of expired leases, and remove one-shot hints that expired unserved."""
    abandoned: list[SettledRun] = []
    moment = now()
    for (token,) in connection.execute(sql.EXPIRED, (to_micros(moment), limit)).fetchall():
        if len(abandoned) < limit:
            abandoned += _abandon(connection, token, limit - len(abandoned), rules)
    write_settled(connection, abandoned, ids)
    connection.execute(sql.END_LEASES, (to_micros(moment),))
    _tidy(connection, moment, limit, rules, ids)
    return abandoned


def _abandon(connection: sqlite3.Connection, token: str, limit: int, rules: SweepRules) -> list[SettledRun]:
    rows = connection.execute(sql.LEASED, (token, limit)).fetchall()
    if not rows:
        return []
    connection.execute(sql.NOTE_DEATH, (token,))
    death = read_death(connection.execute(sql.DEATH, (token,)).fetchone())
    settled = []
    for row in rows:
        run = read_open_run(row, from_micros)
        assert run is not None, "a leased endpoint has an open run"
        settled.append(rules.abandon(read_endpoint(row, from_micros), run, death))
    return settled


def _tidy(connection: sqlite3.Connection, now: datetime, limit: int, rules: SweepRules, ids: Ids) -> None:
    for row in connection.execute(sql.STALE, (to_micros(now), limit)).fetchall():
        tidied = rules.tidy(read_endpoint(row, from_micros))
        connection.execute(sql.UPDATE_STATE, in_micros((*write_state(tidied.endpoint), *tidied.endpoint.key)))
        add_skipped_runs(connection, tidied.endpoint, tidied.skipped, ids)
