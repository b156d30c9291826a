"""Claiming what is due, inside the writer's transaction."""

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from operator import itemgetter
from threading import Lock
from typing import NamedTuple

from cadenza.adapters.stores.common import Share, in_turns
from cadenza.adapters.stores.sql.database import Dialect
from cadenza.adapters.stores.sql.rows import from_micros, read_endpoint, to_micros
from cadenza.adapters.stores.sql.scheduling.limited_claims import LimitedChoice, LimitedRequest
from cadenza.adapters.stores.sqlite import cycle_statements as sql
from cadenza.adapters.stores.sqlite.cycle_statements import read_many, write_many
from cadenza.adapters.stores.sqlite.dialect import SqliteConnection
from cadenza.adapters.stores.sqlite.one_commit import run_to_end
from cadenza.adapters.stores.sqlite.settle import SettledClaim
from cadenza.domain.access.places import ClaimShares
from cadenza.domain.scheduling.abandon import is_limited
from cadenza.domain.scheduling.due import claim
from cadenza.domain.scheduling.endpoint import Endpoint, Lease
from cadenza.domain.scheduling.run import Claim
from cadenza.ports.ids import Ids

MOST_ENDPOINTS = 16_384


DueRow = tuple[int, int, str, int, int]
"""The place of a row, its version, the id of its last run, when it is due and its rank among equals."""
SOONEST = itemgetter(3, 4)


class SettledEndpoints:
    """Endpoints that this store settled last, by run id, so that a claim need not read them again.

    A row with the same run id and version has not changed since: a claim of another worker gives it
    another run, and a change by its owner another version.
    """

    def __init__(self, most: int = MOST_ENDPOINTS) -> None:
        self._most = most
        self._endpoints: dict[str, tuple[int, Endpoint]] = {}
        self._lock = Lock()

    def add(self, settled: Iterable[SettledClaim]) -> None:
        """Add what was committed; beyond the limit, the oldest goes."""
        with self._lock:
            self._endpoints.update((claim.run_id, (claim.version, one.endpoint)) for claim, one in settled)
            if len(self._endpoints) > self._most:
                for run_id in list(self._endpoints)[: -self._most]:
                    del self._endpoints[run_id]

    def take(self, rows: Iterable[DueRow]) -> list[Endpoint | None]:
        """Remove and return the endpoints of rows; None for those that must be read."""
        with self._lock:
            found = [(self._endpoints.pop(run_id, None), version) for _, version, run_id, *_ in rows]
        return [one[1] if one is not None and one[0] == version else None for one, version in found]


class LeaseTerms(NamedTuple):
    """When something is claimed, until when its lease protects, and for whom."""

    now: datetime
    until: datetime
    holder: str | None


def requirements_of(connection: sqlite3.Connection, can_run: Collection[str] | None) -> Sequence[str]:
    """What can be run; if that is everything, what there is, found by jumping through the index."""
    if can_run is not None:
        return list(can_run)
    found = [""]
    while (row := connection.execute(sql.NEXT_REQUIREMENT, (found[-1],)).fetchone()) is not None:
        found.append(row[0])
    return found[1:]


def next_due(
    connection: sqlite3.Connection, can_run: Collection[str] | None, without: Collection[str]
) -> datetime | None:
    """The earliest moment at which something can be claimed of others than these tenants."""
    requirements = requirements_of(connection, can_run)
    if without:
        tenants = (one for requirement in requirements for one in _tenants(connection, requirement))
        moments = [soonest for tenant_id, soonest in tenants if tenant_id not in without]
    else:
        firsts = [connection.execute(sql.NEXT_DUE, (one,)).fetchone() for one in requirements]
        moments = [first[0] for first in firsts if first is not None]
    return from_micros(min(moments, default=None))


def claim_rows(
    connection: sqlite3.Connection,
    terms: LeaseTerms,
    *,
    horizon: datetime,
    limits: ClaimShares,
    can_run: Collection[str] | None,
    settled: SettledEndpoints,
    ids: Ids,
) -> list[Claim]:
    """Lease what is due: first what is claimed within limits, then the others."""
    requirements = requirements_of(connection, can_run)
    lease = partial(lease_rows, connection, terms=terms, settled=settled, ids=ids)
    if not any(map(is_limited, requirements)):
        return lease(due_rows(connection, horizon, limits, requirements))
    limited, plain = [[one for one in requirements if is_limited(one) is wanted] for wanted in (True, False)]
    request = LimitedRequest(limited, terms.now, limits)
    claims: list[Claim] = (
        run_to_end(_claim_limited(connection, request, lease).__await__()) if limits.limit else []
    )
    left = limits._replace(limit=limits.limit - len(claims))
    return claims + (lease(due_rows(connection, horizon, left, plain)) if left.limit and plain else [])


async def _claim_limited(
    connection: sqlite3.Connection, request: LimitedRequest, lease: Callable[[list[DueRow]], list[Claim]]
) -> list[Claim]:
    choice = LimitedChoice(SqliteConnection(connection), Dialect.SQLITE, from_micros)
    chosen = await choice.choose(request)
    rows = [chosen.rows[one.key] for one in chosen.waiting]
    claims = lease([(row[6], row[7], row[8], row[4], row[5]) for row in rows])
    token = claims[0].token if claims else ""
    await choice.record(chosen, {one.key for one in claims}, now=request.now, id_=token)
    late = (chosen.held_back_by(one, request.now) for one in chosen.waiting)
    return [one._replace(held_back_by=key) for one, key in zip(claims, late, strict=True)]


def due_rows(
    connection: sqlite3.Connection, horizon: datetime, limits: ClaimShares, requirements: Sequence[str]
) -> list[DueRow]:
    """What is due, soonest first.

    If it is more than the limit, every tenant gets its share of each requirement. If tenants have bounds,
    their backlogs are passed by: all is read tenant by tenant.
    """
    until = to_micros(horizon) or 0
    if limits.bounds:
        return _rows_of_shares(connection, _shares_due(connection, requirements, until), until, limits)
    rows: list[DueRow] = []
    limit, in_order = limits.limit, True
    for requirement in requirements:
        found = connection.execute(sql.DUE, (requirement, until, limit + 1 - len(rows))).fetchall()
        in_order = in_order and not (rows and found)
        rows = rows + found if rows else found
        if len(rows) > limit:
            shares = _shares_due(connection, requirements, until)
            is_one = len(shares) == 1
            return rows[:limit] if is_one else _rows_of_shares(connection, shares, until, limits)
    return rows if in_order else sorted(rows, key=SOONEST)


def lease_rows(
    connection: sqlite3.Connection,
    rows: list[DueRow],
    terms: LeaseTerms,
    *,
    settled: SettledEndpoints,
    ids: Ids,
) -> list[Claim]:
    """Lease the rows as one batch, and open a run for each."""
    if not rows:
        return []
    token, (now, until, holder) = ids.new(), terms
    claims = [
        claim(endpoint, Lease(token, ids.new(), until), now, version=version, place=place)
        for endpoint, (place, version, *_) in zip(_endpoints(connection, rows, settled), rows, strict=True)
    ]
    lease, at = (token, to_micros(until)), to_micros(now)
    write_many(connection, sql.lease, [(held.place, held.run_id) for held in claims], *lease, at, at, at)
    connection.execute(sql.ADD_LEASE, (*lease, holder or token))
    return claims


def _endpoints(
    connection: sqlite3.Connection, rows: list[DueRow], settled: SettledEndpoints
) -> list[Endpoint]:
    """The endpoints of the rows: as this store settled them, or else read."""
    remembered = settled.take(rows)
    if all(remembered):
        return [endpoint for endpoint in remembered if endpoint is not None]
    missing = [row[:1] for row, endpoint in zip(rows, remembered, strict=True) if endpoint is None]
    read = {row[-1]: read_endpoint(row, from_micros) for row in read_many(connection, sql.rows_at, missing)}
    return [endpoint or read[place] for endpoint, (place, *_) in zip(remembered, rows, strict=True)]


def _tenants(connection: sqlite3.Connection, requirement: str) -> Iterator[tuple[str, int]]:
    """The tenants with their soonest moments, found by jumping from one to the next in the index."""
    tenant_id = ""
    while (row := connection.execute(sql.NEXT_TENANT, (requirement, tenant_id)).fetchone()) is not None:
        yield row
        tenant_id = row[0]


def _shares_due(
    connection: sqlite3.Connection, requirements: Sequence[str], until: int
) -> list[tuple[str, str]]:
    """The requirements and tenants that have something due."""
    return [
        (requirement, tenant_id)
        for requirement in requirements
        for tenant_id, soonest in _tenants(connection, requirement)
        if soonest <= until
    ]


def _rows_of_shares(
    connection: sqlite3.Connection, due: Sequence[tuple[str, str]], until: int, limits: ClaimShares
) -> list[DueRow]:
    """What is due within the limits, soonest first, read tenant by tenant."""
    shares = [
        Share(
            tenant_id,
            connection.execute(sql.DUE_OF_TENANT, (requirement, tenant_id, until, most)).fetchall(),
        )
        for requirement, tenant_id in due
        if (most := min(limits.limit, limits.bounds.get(tenant_id, limits.limit))) > 0
    ]
    rows = in_turns(shares, limits, SOONEST)
    return rows if len(shares) == 1 else sorted(rows, key=SOONEST)
