"""Leasing what is due."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from cadenza.adapters.sql.postgres import statements as sql
from cadenza.adapters.sql.postgres.cycle_statements import BOUNDS, CLAIMS
from cadenza.adapters.sql.postgres.pool import PostgresPool
from cadenza.adapters.sql.postgres.reading import as_it_is
from cadenza.adapters.sql.rows import LEASE, RUN_ID, SOURCES, VERSION, Row, read_endpoint
from cadenza.domain.run import Claim
from cadenza.ports.ids import Ids

TENANTS_AT_ONCE = 50


class Wanted(NamedTuple):
    """How much to claim, up to which moment, and for how long."""

    now: datetime
    horizon: datetime
    lease_until: datetime
    limit: int


class Turns:
    """Claims for one store, which remembers whose turn it was last."""

    def __init__(self, pool: PostgresPool, ids: Ids) -> None:
        self._pool = pool
        self._ids = ids
        self._last_served = ""
        self._idle = True
        """Nothing was due last time: a look comes before the claim, which costs more, found or not."""

    async def claim(self, wanted: Wanted) -> list[Claim]:
        """Lease what is due as one batch, soonest first, and open a run for each."""
        limit = min(wanted.limit, BOUNDS[-1])
        if limit < 1 or (self._idle and not await self._pool.ask(sql.ANY_DUE, wanted.horizon)):
            return []
        rows: Sequence[Row] = await self._pool.ask(
            CLAIMS[next(bound for bound in BOUNDS if limit <= bound)],
            wanted.horizon,
            limit,
            self._ids.new(),
            wanted.lease_until,
            [self._ids.new() for _ in range(limit)],
            wanted.now,
            self._last_served,
            min(limit, TENANTS_AT_ONCE),
        )
        self._idle = not rows
        if rows:
            self._last_served = rows[0][-1] or self._last_served
        return [_claim(row) for row in rows]


def _claim(row: Row) -> Claim:
    """The claim that a row has just been given, as the row says it."""
    run_id, slot, due_at, attempt, source, claimed_at, started_at = row[RUN_ID:VERSION]
    return Claim(
        run_id,
        row[LEASE],
        read_endpoint(row, as_it_is),
        slot,
        due_at,
        attempt,
        SOURCES[source],
        claimed_at,
        row[LEASE + 1],
        started_at,
        row[VERSION],
    )
