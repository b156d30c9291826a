"""Claiming what is due."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from cadenza.adapters.stores.postgres.arrays import identity
from cadenza.adapters.stores.postgres.claim_statements import (
    BOUNDED_CLAIMS,
    BOUNDS,
    CLAIMED_COLUMNS,
    CLAIMS,
    LOOKED_AT,
)
from cadenza.adapters.stores.postgres.engines.claim_by_key import claim_by_key
from cadenza.adapters.stores.postgres.limited_claim import OrderOfClaim, claim_within_limits
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.sql.given_rows import columns_of, parameter_table
from cadenza.adapters.stores.sql.rows import (
    OWNER_COLUMNS,
    SOURCES,
    STEERING_COLUMNS,
    Row,
    read_owner_columns,
    read_steering,
)
from cadenza.adapters.stores.sql.scheduling.definition import LONGEST_REMEMBERED
from cadenza.domain.access.places import ClaimShares
from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.abandon import is_limited
from cadenza.domain.scheduling.due import claim
from cadenza.domain.scheduling.endpoint import Lease, restore_endpoint
from cadenza.domain.scheduling.run import Claim
from cadenza.ports.ids import Ids

Fields = dict[str, Any]
Key = tuple[str, str]
Claimed = tuple[str, str, int]
"""An endpoint's key, and its version when it was claimed."""
DEFINITION = OWNER_COLUMNS.index("definition")
MOST_DEFINITIONS = 32_768
UNSTEERED = read_steering([None] * len(STEERING_COLUMNS), identity)
CLAIMABLE = UNSTEERED | {"enabled": True, "archived": False, "job_active": True, "limited_by": ()}
"""What is claimed is enabled, and has nearly never a hint, a pause or a limit."""

READ_OWNED = f"""
SELECT {", ".join(f"e.{column}" for column in OWNER_COLUMNS)}, s.version
FROM {parameter_table("g", "tenant_id", "endpoint_id")}
JOIN endpoint_states s ON s.tenant_id = g.tenant_id AND s.endpoint_id = g.endpoint_id
JOIN endpoints e ON e.tenant_id = s.tenant_id AND e.id = s.endpoint_id
"""


class DefinitionCache:
    """The fields of endpoints that this store claimed, by key and version.

    A change of a definition changes the version of its endpoint too, so with the same version it is as it
    was read. With each new connection it begins anew: after a failover to a standby that lagged behind,
    versions may come again.
    """

    def __init__(self, pool: PostgresPool, most: int = MOST_DEFINITIONS) -> None:
        self._pool = pool
        self._most = most
        self._cache: dict[Key, tuple[int, Fields]] = {}
        self._connections = 0

    async def read(self, claimed: Sequence[Claimed]) -> list[Fields | None]:
        """The fields of endpoints with these keys and versions; None for one that was deleted."""
        self._forget_other_histories()
        found = [self._cached(*one) for one in claimed]
        missing = [one[:2] for one, fields in zip(claimed, found, strict=True) if fields is None]
        if not missing:
            return found
        rows = await self._pool.ask(READ_OWNED, *columns_of(missing))
        self._forget_other_histories()
        read = self._add(rows)
        return [fields or read.get(one[:2]) for one, fields in zip(claimed, found, strict=True)]

    def _forget_other_histories(self) -> None:
        if self._connections != self._pool.connections_made:
            self._connections = self._pool.connections_made
            self._cache.clear()

    def _cached(self, tenant_id: str, endpoint_id: str, version: int) -> Fields | None:
        cached = self._cache.get((tenant_id, endpoint_id))
        return cached[1] if cached is not None and cached[0] == version else None

    def _add(self, rows: Sequence[Row]) -> dict[Key, Fields]:
        """Cache what was read, unless it is long; beyond the limit, the oldest goes."""
        read = {(row[0], row[1]): read_owner_columns(row[:-1]) | CLAIMABLE for row in rows}
        short = [row for row in rows if len(row[DEFINITION]) <= LONGEST_REMEMBERED]
        self._cache |= {(row[0], row[1]): (row[-1], read[row[0], row[1]]) for row in short}
        for key in list(islice(self._cache, max(0, len(self._cache) - self._most))):
            del self._cache[key]
        return read


NEXT_DUE = """
SELECT min(n.claimable_at) FROM unnest($1::text[]) AS can (requirement), LATERAL (
    SELECT s.claimable_at FROM endpoint_states s
    WHERE s.requirement = can.requirement AND s.claimable_at IS NOT NULL ORDER BY s.claimable_at LIMIT 1
) AS n
"""
NEXT_DUE_OF_OTHERS = f"""
SELECT min(n.claimable_at) FROM unnest($1::text[]) AS can (requirement), LATERAL (
    SELECT claimable_at FROM (
        SELECT s.tenant_id, s.claimable_at, row_number() OVER (ORDER BY s.claimable_at) AS place
        FROM endpoint_states s WHERE s.requirement = can.requirement AND s.claimable_at IS NOT NULL
        ORDER BY s.claimable_at LIMIT {LOOKED_AT}
    ) AS first WHERE tenant_id <> ALL ($2::text[]) OR place = {LOOKED_AT} LIMIT 1
) AS n
"""
REQUIREMENTS = """
WITH RECURSIVE present (requirement) AS (
    (SELECT requirement FROM endpoint_states WHERE claimable_at IS NOT NULL ORDER BY requirement LIMIT 1)
    UNION ALL
    SELECT n.requirement FROM present, LATERAL (
        SELECT s.requirement FROM endpoint_states s
        WHERE s.requirement > present.requirement AND s.claimable_at IS NOT NULL
        ORDER BY s.requirement LIMIT 1
    ) AS n
)
SELECT requirement FROM present
"""
"""The requirements of all that can be claimed, found by jumping through the index."""

UNBOUNDED_PARAMETERS = 12
"""How many parameters a claim takes if no tenant has a bound."""
SHARES_AT_ONCE = 50
"""How many tenants get a share of a requirement in one claim."""
LOOKED_AT_IN_ROTATION = 200
"""How many tenants are looked at when a backlog hides what others have due."""


class ClaimRequest(NamedTuple):
    """How much to claim, up to which moment, and for how long."""

    now: datetime
    horizon: datetime
    lease_until: datetime
    limits: ClaimShares
    can_run: Collection[str] | None
    holder: str | None = None


async def requirements_of(pool: PostgresPool, can_run: Collection[str] | None) -> list[str]:
    """What can be run, sorted; if that is everything, what there is."""
    if can_run is not None:
        return sorted(can_run)
    return [row[0] for row in await pool.ask(REQUIREMENTS)]


async def next_due(
    pool: PostgresPool, can_run: Collection[str] | None, without: Collection[str]
) -> datetime | None:
    """The earliest moment at which something can be claimed of others than these tenants."""
    requirements = await requirements_of(pool, can_run)
    asked = (NEXT_DUE_OF_OTHERS, requirements, list(without)) if without else (NEXT_DUE, requirements)
    soonest: datetime | None = (await pool.ask(*asked))[0][0]
    return soonest


class PostgresClaimer:
    """Claims for one store, tenant after tenant: it remembers which tenant was served last."""

    def __init__(self, pool: PostgresPool, ids: Ids) -> None:
        self._pool = pool
        self._ids = ids
        self._definitions = DefinitionCache(pool)
        self._last_served = ("", "")
        """The requirement and the tenant that were served last."""

        self._idle = True
        """Nothing was due last time: then a cheap query comes before the claim."""

        self._backlog = False
        """The last claim was full, so more is probably due than one claim takes."""

        self._unread: list[Leased] = []
        """Rows that were leased, and then the server failed to answer their definitions."""

    async def claim(self, wanted: ClaimRequest) -> list[Claim]:
        """Lease what is due as one batch, soonest first, and open a run for each.

        Rows that an earlier claim leased and could not read come first, until their lease expires.
        """
        limit = max(0, min(wanted.limits.limit, BOUNDS[-1]))
        unread = [one for one in self._unread if one.batch.wanted.lease_until > wanted.now]
        leased, self._unread = unread[:limit], unread[limit:]
        return await self._claims(leased or await self._lease(wanted, limit))

    async def _claims(self, leased: Sequence["Leased"]) -> list[Claim]:
        try:
            owned = await self._definitions.read([row[:3] for _, row, _ in leased])
        except Unavailable:
            self._unread += leased
            raise
        return [
            batch.claim(row, fields) if order is None else order.of(batch.claim(row, fields | order.fields))
            for (batch, row, order), fields in zip(leased, owned, strict=True)
            if fields is not None
        ]

    async def _lease(self, wanted: ClaimRequest, limit: int) -> list["Leased"]:
        can_run = await requirements_of(self._pool, wanted.can_run)
        if not any(map(is_limited, can_run)):
            return await self._lease_plain(wanted, limit, can_run)
        leased: list[Leased] = []
        if limit > 0:
            batch, limited = self._batch(wanted, limit), list(filter(is_limited, can_run))
            leased = [Leased(batch, *one) for one in await claim_within_limits(self._pool, batch, limited)]
        plain = [one for one in can_run if not is_limited(one)]
        return leased + (await self._lease_plain(wanted, limit - len(leased), plain) if plain else [])

    def _batch(self, wanted: ClaimRequest, limit: int) -> "LeaseBatch":
        return LeaseBatch(self._ids.new(), [self._ids.new() for _ in range(limit)], wanted)

    async def _lease_plain(self, wanted: ClaimRequest, limit: int, can_run: Sequence[str]) -> list["Leased"]:
        if limit < 1 or (self._idle and not await self._any_due(wanted.horizon, can_run)):
            return []
        last_requirement, last_tenant = self._last_served
        batch = self._batch(wanted, limit)
        bounds = wanted.limits.bounds
        rows: Sequence[Row] = await self._claim_rows(
            next(bound for bound in BOUNDS if limit <= bound),
            wanted.horizon,
            limit,
            batch.token,
            wanted.lease_until,
            batch.run_ids,
            wanted.now,
            last_tenant,
            LOOKED_AT_IN_ROTATION if bounds else min(limit, SHARES_AT_ONCE),
            self._backlog,
            can_run,
            last_requirement,
            wanted.holder or batch.token,
            *((list(bounds), list(bounds.values())) if bounds else ()),
        )
        if rows[0][-1]:
            self._last_served = (rows[0][-1][0], rows[0][-1][1])
        leased = [Leased(batch, row) for row in rows if row[0] is not None]
        self._idle, self._backlog = not leased, len(leased) == limit
        return leased

    async def _claim_rows(self, bound: int, *parameters: Any) -> Sequence[Row]:
        """The rows of a claim; the last column of the first says who was served last."""
        within_bounds = len(parameters) > UNBOUNDED_PARAMETERS
        if self._pool.profile.claims_in_one_statement:
            return await self._pool.ask((BOUNDED_CLAIMS if within_bounds else CLAIMS)[bound], *parameters)
        work = partial(claim_by_key, bound=bound, within_bounds=within_bounds, parameters=parameters)
        return await self._pool.write(work)

    async def _any_due(self, horizon: datetime, can_run: Sequence[str]) -> bool:
        soonest = await next_due(self._pool, can_run, ())
        return soonest is not None and soonest <= horizon


class LeaseBatch(NamedTuple):
    """The lease and the run ids of rows that are leased together."""

    token: str
    run_ids: list[str]
    wanted: ClaimRequest

    def claim(self, row: Row, owned: Fields) -> Claim:
        """The claim of a row that was just leased."""
        version, at, place, next_run_at, next_source, last_run_at, missed, failed, abandoned, steering = row[
            2 : len(CLAIMED_COLUMNS)
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

    batch: LeaseBatch
    row: Row
    order: OrderOfClaim | None = None
    """How it was claimed if limits or a priority counted."""
