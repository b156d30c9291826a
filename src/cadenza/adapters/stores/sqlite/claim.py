"""Choosing and leasing what is due, inside the writer's transaction."""

import sqlite3
from collections.abc import Iterable, Iterator
from datetime import datetime
from threading import Lock

from cadenza.adapters.stores.sql.rows import from_micros, read_endpoint, to_micros
from cadenza.adapters.stores.sqlite import cycle_statements as sql
from cadenza.adapters.stores.sqlite.batches import read_many, write_many
from cadenza.adapters.stores.sqlite.settle import Held
from cadenza.domain.scheduling.due import claim
from cadenza.domain.scheduling.endpoint import Endpoint, Lease
from cadenza.domain.scheduling.run import Claim
from cadenza.ports.ids import Ids

MOST = 16_384


class Known:
    """What this store has settled, by the run that it settled last.

    A row that carries the same run and version is as it was left: another
    worker would have given it another run, and whoever steers changes the version.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._left: dict[str, tuple[int, Endpoint]] = {}
        self._lock = Lock()

    def keep(self, held: Iterable[Held]) -> None:
        """Remember what was committed; when it is too much, the oldest is forgotten."""
        with self._lock:
            self._left.update((claim.run_id, (claim.version, settled.endpoint)) for claim, settled in held)
            if len(self._left) > self._most:
                for run_id in list(self._left)[: -self._most]:
                    del self._left[run_id]

    def take(self, rows: Iterable[tuple[int, int, str]]) -> list[Endpoint | None]:
        """The endpoints of rows with place, version and last run; None for what must be read."""
        with self._lock:
            found = [(self._left.pop(run_id, None), version) for _, version, run_id in rows]
        return [left[1] if left is not None and left[0] == version else None for left, version in found]


Place = tuple[int, int, str]
"""Where a row is, its version, and the run it had last."""


def due_rows(connection: sqlite3.Connection, horizon: datetime, limit: int) -> list[Place]:
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
    connection: sqlite3.Connection,
    rows: list[Place],
    *,
    known: Known,
    ids: Ids,
    now: datetime,
    until: datetime,
) -> list[Claim]:
    """Lease the rows as one batch, and open a run for each."""
    if not rows:
        return []
    token = ids.new()
    claims = [
        claim(endpoint, Lease(token, ids.new(), until), now, version=version, place=place)
        for endpoint, (place, version, _) in zip(_endpoints(connection, rows, known), rows, strict=True)
    ]
    lease, at = (token, to_micros(until)), to_micros(now)
    write_many(connection, sql.lease, [(held.place, held.run_id) for held in claims], *lease, at, at, at)
    connection.execute(sql.ADD_LEASE, lease)
    return claims


def _endpoints(connection: sqlite3.Connection, rows: list[Place], known: Known) -> list[Endpoint]:
    """The endpoints of the rows: as they were left here, or else read."""
    left = known.take(rows)
    if all(left):
        return [endpoint for endpoint in left if endpoint is not None]
    unknown = [row[:1] for row, endpoint in zip(rows, left, strict=True) if endpoint is None]
    read = {row[-1]: read_endpoint(row, from_micros) for row in read_many(connection, sql.rows_at, unknown)}
    return [endpoint or read[place] for endpoint, (place, _, _) in zip(left, rows, strict=True)]


def _tenants_due(connection: sqlite3.Connection, until: int) -> Iterator[str]:
    """The tenants that have something due, found by jumping from one to the next in the index."""
    tenant_id = ""
    while (row := connection.execute(sql.NEXT_TENANT, (tenant_id,)).fetchone()) is not None:
        tenant_id, soonest = row
        if soonest <= until:
            yield tenant_id


def _in_turns(connection: sqlite3.Connection, tenants: list[str], until: int, limit: int) -> list[Place]:
    """Every tenant's soonest, then every tenant's second, and so on, up to the limit."""
    share = limit
    queues = [
        connection.execute(sql.DUE_OF_TENANT, (tenant_id, until, share)).fetchall() for tenant_id in tenants
    ]
    rounds = (queue[place] for place in range(share) for queue in queues if place < len(queue))
    return [row for row, _ in zip(rounds, range(limit), strict=False)]
