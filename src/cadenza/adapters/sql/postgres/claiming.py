"""Leasing what is due."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from cadenza.adapters.sql.postgres import statements as sql
from cadenza.adapters.sql.postgres.cycle_statements import BOUNDS, CLAIMED, CLAIMS
from cadenza.adapters.sql.postgres.places import place_of
from cadenza.adapters.sql.postgres.pool import PostgresPool
from cadenza.adapters.sql.postgres.reading import as_it_is
from cadenza.adapters.sql.rows import Row, read_endpoint
from cadenza.domain.due import claim
from cadenza.domain.run import Claim
from cadenza.ports.ids import Ids

TENANTS_AT_ONCE = 50
VERSION, ROW, PLACE = range(len(CLAIMED), len(CLAIMED) + 3)
OPEN_GATES = (True, False, True)
"""What is claimable is enabled, not archived, and of an active job."""


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

        self._hurry = False
        """The last claim was full, so more is due than a claim takes, or it costs little to believe it."""

    async def claim(self, wanted: Wanted) -> list[Claim]:
        """Lease what is due as one batch, soonest first, and open a run for each."""
        limit = min(wanted.limit, BOUNDS[-1])
        if limit < 1 or (self._idle and not await self._pool.ask(sql.ANY_DUE, wanted.horizon)):
            return []
        batch = Batch(self._ids.new(), [self._ids.new() for _ in range(limit)], wanted)
        rows: Sequence[Row] = await self._pool.ask(
            CLAIMS[next(bound for bound in BOUNDS if limit <= bound)],
            wanted.horizon,
            limit,
            batch.token,
            wanted.lease_until,
            batch.run_ids,
            wanted.now,
            self._last_served,
            min(limit, TENANTS_AT_ONCE),
            self._hurry,
        )
        self._idle, self._hurry = not rows, len(rows) == limit
        if rows:
            self._last_served = rows[0][-1] or self._last_served
        return [batch.claim(row) for row in rows]


class Batch(NamedTuple):
    """What is given to rows that are leased together."""

    token: str
    run_ids: list[str]
    wanted: Wanted

    def claim(self, row: Row) -> Claim:
        """The claim that a row has just been given, as the rules say it."""
        known = (self.token, self.wanted.lease_until, self.run_ids[row[PLACE] - 1])
        endpoint = read_endpoint(row[: len(CLAIMED)] + OPEN_GATES + known, as_it_is)
        assert endpoint.lease is not None, "it has just been given"
        return claim(
            endpoint, endpoint.lease, self.wanted.now, version=row[VERSION], place=place_of(row[ROW])
        )
