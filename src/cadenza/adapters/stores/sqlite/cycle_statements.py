"""The statements of workers: claim and settle many rows at a time, start and sweep."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any

from cadenza.adapters.stores.sql.rows import (
    ENDPOINT_COLUMNS,
    OPEN_RUN_COLUMNS,
    SELECT_ENDPOINT,
    SELECT_ENDPOINT_ALONE,
    STATE_COLUMNS,
)
from cadenza.domain.scheduling.run import Run

PARTS = (100, 10, 1)
"""How many rows a statement takes; few sizes, so that the driver keeps each of them prepared."""

Statement = Callable[[int], str]
"""The text of a statement for so many rows."""


def values_table(rows: int, *columns: str) -> str:
    """The first parameters of a statement as a table `g`."""
    row = f"({', '.join('?' * len(columns))})"
    return f"WITH g ({', '.join(columns)}) AS (VALUES {', '.join([row] * rows)})"


def write_many(
    connection: sqlite3.Connection, statement: Statement, rows: Sequence[Sequence[Any]], *rest: Any
) -> int:
    """Execute a statement for all rows; how many it changed. The rest is the same for every part."""
    before = connection.total_changes
    for part in _parts(rows):
        connection.execute(statement(len(part)), (*chain.from_iterable(part), *rest))
    return connection.total_changes - before


def read_many(
    connection: sqlite3.Connection, statement: Statement, rows: Sequence[Sequence[Any]]
) -> Iterator[tuple[Any, ...]]:
    """What a query answers to all rows."""
    for part in _parts(rows):
        yield from connection.execute(statement(len(part)), tuple(chain.from_iterable(part)))


def _parts(rows: Sequence[Sequence[Any]]) -> Iterator[Sequence[Sequence[Any]]]:
    start = 0
    for size in PARTS:
        while len(rows) - start >= size:
            yield rows[start : start + size]
            start += size


IS_AS_CLAIMED = "s.run_id = g.run_id AND s.lease_token = g.token AND s.version = g.version"

PLACES = "SELECT rowid, version, run_id, claimable_at, rank FROM endpoint_states WHERE requirement = ?"
DUE = f"{PLACES} AND claimable_at <= ? ORDER BY claimable_at, rank LIMIT ?"
DUE_OF_TENANT = f"{PLACES} AND tenant_id = ? AND claimable_at <= ? ORDER BY claimable_at, rank LIMIT ?"
NEXT_TENANT = (
    "SELECT tenant_id, claimable_at FROM endpoint_states WHERE requirement = ? AND tenant_id > ?"
    " AND claimable_at IS NOT NULL ORDER BY tenant_id, claimable_at LIMIT 1"
)
ADD_LEASE = "INSERT INTO leases (token, until, holder) VALUES (?, ?, ?)"


@cache
def rows_at(rows: int) -> str:
    """The columns `ENDPOINT_COLUMNS` of rows, and their places. Parameters: the places."""
    return (
        f"{values_table(rows, 'place')} SELECT {', '.join(ENDPOINT_COLUMNS)}, s.rowid FROM g"
        " CROSS JOIN endpoint_states s ON s.rowid = g.place"
        " JOIN endpoints e ON e.tenant_id = s.tenant_id AND e.id = s.endpoint_id"
    )


@cache
def lease(rows: int) -> str:
    """Lease rows and open their runs. Parameters: place and run id of each; token, until, three times now."""
    return (
        f"{values_table(rows, 'place', 'run_id')} UPDATE endpoint_states AS s"
        " SET claimable_at = NULL, tidy_at = NULL, lease_token = ?, lease_until = ?, run_id = g.run_id,"
        " run_slot = coalesce(s.request_slot_at, s.open_slot_at, s.next_run_at), run_due_at = s.claimable_at,"
        " run_attempt = coalesce(s.request_attempt, s.open_slot_attempts + 1, 1),"
        " run_source = coalesce(s.request_source, s.next_source),"
        " run_claimed_at = ?, run_started_at = CASE WHEN s.claimable_at <= ? THEN ? END"
        " FROM g WHERE s.rowid = g.place"
    )


HELD_BY_ROW = {
    "tenant_id": "s.tenant_id",
    "endpoint_id": "s.endpoint_id",
    **{column.removeprefix("run_"): f"s.{column}" for column in OPEN_RUN_COLUMNS},
}
"""The columns of a run that its endpoint's row holds; without a lease they mean nothing."""
RUN_TEXTS = ("error", "reason", "response", "traceback")
TEXTLESS = tuple(field for field in Run._fields if field not in RUN_TEXTS)
SENT_COLUMNS = ("place", *(field for field in TEXTLESS if field not in HELD_BY_ROW))


@cache
def add_textless_runs(rows: int) -> str:
    """Add started runs without any texts. Parameters: the columns `SENT_COLUMNS`."""
    columns = (HELD_BY_ROW.get(field, f"g.{field}") for field in TEXTLESS)
    return (
        f"{values_table(rows, *SENT_COLUMNS)} INSERT INTO runs ({', '.join(TEXTLESS)})"
        f" SELECT {', '.join(columns)} FROM g CROSS JOIN endpoint_states s ON s.rowid = g.place"
    )


CLAIM_COLUMNS = ("place", "run_id", "token", "version")


@cache
def runs_as_claimed(rows: int) -> str:
    """The runs whose rows are as they were claimed. Parameters: the columns `CLAIM_COLUMNS`."""
    return (
        f"{values_table(rows, *CLAIM_COLUMNS)} SELECT g.run_id FROM g"
        f" CROSS JOIN endpoint_states s ON s.rowid = g.place WHERE {IS_AS_CLAIMED}"
    )


ORDINARY_COLUMNS = (
    *CLAIM_COLUMNS,
    "next_run_at",
    "next_source",
    "missed_slots",
    "failure_count",
    "abandoned_count",
)


@cache
def settle_ordinary(rows: int) -> str:
    """Write all that an ordinary run changes. Parameters: the columns `ORDINARY_COLUMNS`."""
    changed = ", ".join(f"{column} = g.{column}" for column in ORDINARY_COLUMNS[len(CLAIM_COLUMNS) :])
    return (
        f"{values_table(rows, *ORDINARY_COLUMNS)} UPDATE endpoint_states AS s SET {changed},"
        " claimable_at = g.next_run_at, last_run_at = s.run_started_at,"
        f" lease_token = NULL, lease_until = NULL FROM g WHERE s.rowid = g.place AND {IS_AS_CLAIMED}"
    )


OF_KEY = "WHERE s.tenant_id = ? AND s.endpoint_id = ?"
NO_LEASE = "lease_token = NULL, lease_until = NULL"
SET_STATE = ", ".join(f"{column} = ?" for column in STATE_COLUMNS)

GET = f"{SELECT_ENDPOINT} {OF_KEY}"
GET_ALONE = f"{SELECT_ENDPOINT_ALONE} {OF_KEY}"
UPDATE_STATE = (
    f"UPDATE endpoint_states SET {SET_STATE}, version = version + 1 WHERE tenant_id = ? AND endpoint_id = ?"
)

START = (
    "UPDATE endpoint_states SET run_slot = ?, run_due_at = ?, run_source = ?, run_started_at = ?"
    " WHERE tenant_id = ? AND endpoint_id = ?"
)
RENEW = "UPDATE leases SET until = ?, in_flight = NULL, suspects = NULL WHERE token = ?"
RUNS_OF_LEASE = "SELECT run_id FROM endpoint_states WHERE lease_token = ?"

SETTLE = f"UPDATE endpoint_states SET {SET_STATE}, {NO_LEASE} WHERE tenant_id = ? AND endpoint_id = ?"
SETTLE_AS_CLAIMED = f"{SETTLE} AND run_id = ? AND lease_token = ? AND version = ?"
ADD_RUN = f"INSERT INTO runs ({', '.join(Run._fields)}) VALUES ({', '.join('?' * len(Run._fields))})"
EXPIRED = "SELECT token FROM leases WHERE until <= ? LIMIT ?"
NOTE_DEATH = (
    "UPDATE leases SET (in_flight, suspects) = (SELECT count(*), count(nullif(s.abandoned_count, 0))"
    " FROM leases l JOIN endpoint_states s ON s.lease_token = l.token"
    " WHERE l.holder = leases.holder AND s.run_started_at IS NOT NULL)"
    " WHERE holder = (SELECT holder FROM leases WHERE token = ?) AND in_flight IS NULL"
)
"""Noted once for all leases of a holder: they run out one after the other, and are not all swept in one
commit. A holder that lives has its own noted too, until it renews them."""
DEATH = "SELECT token, in_flight, suspects FROM leases WHERE token = ?"
LEASED = f"{SELECT_ENDPOINT} WHERE s.lease_token = ? LIMIT ?"
END_LEASES = (
    "DELETE FROM leases WHERE until <= ? AND NOT EXISTS"
    " (SELECT 1 FROM endpoint_states WHERE lease_token = leases.token)"
)
STALE = f"{SELECT_ENDPOINT} WHERE s.tidy_at <= ? ORDER BY s.tidy_at LIMIT ?"
NEXT_DUE = (
    "SELECT claimable_at FROM endpoint_states WHERE requirement = ? AND claimable_at IS NOT NULL"
    " ORDER BY claimable_at LIMIT 1"
)
NEXT_REQUIREMENT = (
    "SELECT requirement FROM endpoint_states WHERE requirement > ? AND claimable_at IS NOT NULL"
    " ORDER BY requirement LIMIT 1"
)
