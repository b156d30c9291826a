"""Leasing what is due."""

from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

from cadenza.adapters.stores.postgres.arrays import identity
from cadenza.adapters.stores.postgres.cycle_statements import ANY_DUE, BOUNDS, CLAIMED, CLAIMS
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.sql.given_rows import columns_of, given
from cadenza.adapters.stores.sql.rows import OWNED, SOURCES, STEERING, Row, read_owned, read_steering
from cadenza.adapters.stores.sql.scheduling.definition import LONGEST_REMEMBERED
from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.due import claim
from cadenza.domain.scheduling.endpoint import Lease, restore_endpoint
from cadenza.domain.scheduling.run import Claim
from cadenza.ports.ids import Ids

Fields = dict[str, Any]
Key = tuple[str, str]
Claimed = tuple[str, str, int]
"""An endpoint's key, and its version when it was claimed."""
DEFINITION = OWNED.index("definition")
MOST = 32_768
UNSTEERED = read_steering([None] * len(STEERING), identity)
CLAIMABLE = UNSTEERED | {"enabled": True, "archived": False, "job_active": True}
"""What is claimed has open gates, and is nearly never steered."""

READ_OWNED = f"""
SELECT {", ".join(f"e.{column}" for column in OWNED)}, s.version
FROM {given("g", "tenant_id", "endpoint_id")}
JOIN endpoint_states s ON s.tenant_id = g.tenant_id AND s.endpoint_id = g.endpoint_id
JOIN endpoints e ON e.tenant_id = s.tenant_id AND e.id = s.endpoint_id
"""


class Definitions:
    """Of endpoints that were claimed here: their fields, as they are unless somebody steers.

    Whoever changes a definition changes the version of its endpoint too, so one of the same version is
    as it was read.
    """

    def __init__(self, pool: PostgresPool, most: int = MOST) -> None:
        self._pool = pool
        self._most = most
        self._read: dict[Key, tuple[int, Fields]] = {}

    async def of(self, claimed: Sequence[Claimed]) -> list[Fields | None]:
        """The fields of endpoints with these keys and versions; None for one that is gone."""
        found = [self._known(*one) for one in claimed]
        unknown = [one[:2] for one, fields in zip(claimed, found, strict=True) if fields is None]
        if not unknown:
            return found
        read = self._keep(await self._pool.ask(READ_OWNED, *columns_of(unknown)))
        return [fields or read.get(one[:2]) for one, fields in zip(claimed, found, strict=True)]

    def _known(self, tenant_id: str, endpoint_id: str, version: int) -> Fields | None:
        known = self._read.get((tenant_id, endpoint_id))
        return known[1] if known is not None and known[0] == version else None

    def _keep(self, rows: Sequence[Row]) -> dict[Key, Fields]:
        """Remember what was read, unless it is long; when it is too much, the oldest is forgotten."""
        read = {(row[0], row[1]): read_owned(row[:-1]) | CLAIMABLE for row in rows}
        short = [row for row in rows if len(row[DEFINITION]) <= LONGEST_REMEMBERED]
        self._read |= {(row[0], row[1]): (row[-1], read[row[0], row[1]]) for row in short}
        for key in list(islice(self._read, max(0, len(self._read) - self._most))):
            del self._read[key]
        return read


TENANTS_AT_ONCE = 50


class Wanted(NamedTuple):
    """How much to claim, up to which moment, and for how long."""

    now: datetime
    horizon: datetime
    lease_until: datetime
    limit: int


class Claimer:
    """Claims for one store, tenant after tenant: it remembers which tenant was served last."""

    def __init__(self, pool: PostgresPool, ids: Ids) -> None:
        self._pool = pool
        self._ids = ids
        self._definitions = Definitions(pool)
        self._last_served = ""
        self._idle = True
        """Nothing was due last time: a look comes before the claim, which costs more, found or not."""

        self._hurry = False
        """The last claim was full, so more is due than a claim takes, or it costs little to believe it."""

        self._untold: list[Leased] = []
        """What was leased, and then the server did not answer what its owner wrote."""

    async def claim(self, wanted: Wanted) -> list[Claim]:
        """Lease what is due as one batch, soonest first, and open a run for each.

        What a claim before could not tell comes first, as long as its lease protects.
        """
        limit = max(0, min(wanted.limit, BOUNDS[-1]))
        untold = [one for one in self._untold if one.batch.wanted.lease_until > wanted.now]
        leased, self._untold = untold[:limit], untold[limit:]
        return await self._told(leased or await self._lease(wanted, limit))

    async def _told(self, leased: Sequence["Leased"]) -> list[Claim]:
        try:
            owned = await self._definitions.of([row[:3] for _, row in leased])
        except Unavailable:
            self._untold += leased
            raise
        return [
            batch.claim(row, fields)
            for (batch, row), fields in zip(leased, owned, strict=True)
            if fields is not None
        ]

    async def _lease(self, wanted: Wanted, limit: int) -> list["Leased"]:
        if limit < 1 or (self._idle and not await self._pool.ask(ANY_DUE, wanted.horizon)):
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
        return [Leased(batch, row) for row in rows]


class Batch(NamedTuple):
    """What is given to rows that are leased together."""

    token: str
    run_ids: list[str]
    wanted: Wanted

    def claim(self, row: Row, owned: Fields) -> Claim:
        """The claim that a row has just been given, as the rules say it."""
        version, at, place, next_run_at, next_source, last_run_at, missed, failed, abandoned, steering = row[
            2 : len(CLAIMED)
        ]
        lease = Lease(self.token, self.run_ids[place - 1], self.wanted.lease_until)
        fields = owned | {
            "next_run_at": next_run_at,
            "next_source": SOURCES[next_source],
            "last_run_at": last_run_at,
            "missed_slots": missed,
            "failure_count": failed,
            "abandoned_count": abandoned,
            "lease": lease,
        }
        if steering is not None:
            fields |= read_steering(steering, identity)
        return claim(restore_endpoint(fields), lease, self.wanted.now, version=version, place=at)


class Leased(NamedTuple):
    """A row, and the batch with which it was leased."""

    batch: Batch
    row: Row
