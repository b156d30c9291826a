"""Claiming what is due under limits or with a priority, in one transaction that waits for no other."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cadenza.adapters.stores.postgres.arrays import identity
from cadenza.adapters.stores.postgres.engines.claim_by_key import ADD_LEASE, LEASE, LEASE_AT, LOCK_DUE
from cadenza.adapters.stores.postgres.pool import Connection, PostgresPool
from cadenza.adapters.stores.sql.database import Dialect
from cadenza.adapters.stores.sql.given_rows import columns_of
from cadenza.adapters.stores.sql.rows import Row
from cadenza.adapters.stores.sql.scheduling.limited_claims import LimitedChoice, LimitedRequest
from cadenza.domain.access.run_limit import WaitingEndpoint
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.run import Claim

if TYPE_CHECKING:
    from cadenza.adapters.stores.postgres.claim import LeaseBatch

LEASE_AT_PLACES = LEASE_AT.format("s.ctid::text")


class OrderOfClaim(NamedTuple):
    """The limits that a claimed endpoint is under, and the one that made it late."""

    limited_by: tuple[str, ...]
    held_back_by: str | None

    @property
    def fields(self) -> dict[str, Any]:
        """What of the endpoint is not with its definition."""
        return {"limited_by": self.limited_by}

    def of(self, claim: Claim) -> Claim:
        """The claim, which knows what made it late."""
        return claim if self.held_back_by is None else claim._replace(held_back_by=self.held_back_by)


async def claim_within_limits(
    pool: PostgresPool, batch: "LeaseBatch", requirements: Collection[str]
) -> list[tuple[Row, OrderOfClaim]]:
    """Lease what is due now within limits, the higher priority first; the rows of its claim."""
    wanted, one_statement = batch.wanted, pool.profile.claims_in_one_statement
    shares = wanted.limits._replace(limit=len(batch.run_ids))
    request = LimitedRequest(requirements, wanted.now, shares, locks_rows=one_statement)

    async def work(connection: Connection) -> list[tuple[Row, OrderOfClaim]]:
        choice = LimitedChoice(connection, Dialect.POSTGRES, identity)
        chosen = await choice.choose(request)
        taken = list(chosen.waiting)
        if taken and not one_statement:
            taken = await _locked(connection, taken, batch)
        rows = await _lease(connection, taken, batch, at_places=pool.profile.row_places)
        claimed = {one.key for one in taken}
        await choice.record(chosen, claimed, now=wanted.now, id_=batch.token)
        ordered = sorted(rows, key=lambda row: row["place"])
        return [
            (row, OrderOfClaim(one.limited_by, chosen.held_back_by(one, wanted.now)))
            for row, one in zip(ordered, taken, strict=True)
        ]

    return await pool.write(work)


async def _locked(
    connection: Connection, taken: Sequence[WaitingEndpoint], batch: "LeaseBatch"
) -> list[WaitingEndpoint]:
    """Those that are still due and that no other transaction has locked."""
    keys = columns_of([one.key for one in taken])
    found = await connection.fetch(LOCK_DUE, batch.wanted.now, *keys)
    locked = {EndpointKey(row[0], row[1]) for row in found}
    return [one for one in taken if one.key in locked]


async def _lease(
    connection: Connection, taken: Sequence[WaitingEndpoint], batch: "LeaseBatch", *, at_places: bool
) -> Sequence[Row]:
    if not taken:
        return []
    wanted = batch.wanted
    keys = columns_of([one.key for one in taken])
    terms = (batch.token, wanted.lease_until, batch.run_ids, wanted.now)
    rows: Sequence[Row] = await connection.fetch(LEASE_AT_PLACES if at_places else LEASE, *keys, *terms)
    await connection.execute(ADD_LEASE, batch.token, wanted.lease_until, wanted.holder or batch.token)
    return rows
