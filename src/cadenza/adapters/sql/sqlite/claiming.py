"""Choosing and leasing what is due, inside the writer's transaction."""

import sqlite3
from collections.abc import Iterator
from datetime import datetime

from cadenza.adapters.sql.rows import VERSION, Row, from_micros, read_endpoint, to_micros
from cadenza.adapters.sql.sqlite import statements as sql
from cadenza.domain.due import claim
from cadenza.domain.endpoint import Lease
from cadenza.domain.run import Claim
from cadenza.ports.ids import Ids


def due_rows(connection: sqlite3.Connection, horizon: datetime, limit: int) -> list[Row]:
    """What is due, soonest first; when there is more than the limit, in turns between tenants."""
    until = to_micros(horizon)
    (count,) = connection.execute(sql.CROWDED, (until, limit + 1)).fetchone()
    if count <= limit:
        return connection.execute(sql.DUE, (until, limit)).fetchall()
    tenants = list(_tenants_due(connection, until or 0))
    if len(tenants) == 1:
        return connection.execute(sql.DUE, (until, limit)).fetchall()
    return _in_turns(connection, tenants, until or 0, limit)


def lease_rows(
    connection: sqlite3.Connection, rows: list[Row], *, ids: Ids, now: datetime, lease_until: datetime
) -> list[Claim]:
    """Lease the rows as one batch, and open a run for each."""
    if not rows:
        return []
    token = ids.new()
    claims = [
        claim(read_endpoint(row, from_micros), Lease(token, ids.new(), lease_until), now)._replace(
            version=row[VERSION]
        )
        for row in rows
    ]
    until, at = to_micros(lease_until), to_micros(now)
    connection.executemany(
        sql.LEASE,
        [
            (
                token,
                until,
                held.run_id,
                to_micros(held.slot),
                to_micros(held.due_at),
                held.attempt,
                held.source.value,
                at,
                to_micros(held.started_at),
                *held.key,
            )
            for held in claims
        ],
    )
    connection.execute(sql.ADD_LEASE, (token, until))
    return claims


def _tenants_due(connection: sqlite3.Connection, until: int) -> Iterator[str]:
    """The tenants that have something due, found by jumping from one to the next in the index."""
    tenant_id = ""
    while (row := connection.execute(sql.NEXT_TENANT, (tenant_id,)).fetchone()) is not None:
        tenant_id, soonest = row
        if soonest <= until:
            yield tenant_id


def _in_turns(connection: sqlite3.Connection, tenants: list[str], until: int, limit: int) -> list[Row]:
    """Every tenant's soonest, then every tenant's second, and so on, up to the limit."""
    share = limit
    queues = [
        connection.execute(sql.DUE_OF_TENANT, (tenant_id, until, share)).fetchall() for tenant_id in tenants
    ]
    rounds = (queue[place] for place in range(share) for queue in queues if place < len(queue))
    return [row for row, _ in zip(rounds, range(limit), strict=False)]
