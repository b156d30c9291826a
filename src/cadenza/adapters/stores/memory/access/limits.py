"""Limits of runs, and what may be claimed within them."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from datetime import datetime

from cadenza.adapters.stores.common import Share, in_turns, no_limit, summed_uses, too_many_limits
from cadenza.adapters.stores.memory.scheduling.due_index import DueInOrder
from cadenza.adapters.stores.memory.tables import MemoryTables
from cadenza.domain.access.places import ClaimShares
from cadenza.domain.access.run_limit import (
    MOST_LIMITS,
    WINDOW,
    LimitKind,
    LimitUse,
    RunLimit,
    StartedRuns,
    WaitingEndpoint,
    admit,
    held_back_by,
    room,
)
from cadenza.domain.scheduling.due import claimable_at
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey


class MemoryLimits:
    """Limits by their tenants and keys."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def put_limit(self, limit: RunLimit) -> RunLimit | None:
        with self._lock:
            before = self._tables.limits.get((limit.tenant_id, limit.key))
            if before is None and len(_of_tenant(self._tables, limit.tenant_id)) >= MOST_LIMITS:
                raise too_many_limits()
            kept = (
                limit
                if before is None
                else replace(before, max_in_flight=limit.max_in_flight, max_per_minute=limit.max_per_minute)
            )
            self._tables.limits[limit.tenant_id, limit.key] = kept
            self._follow(limit.tenant_id)
            return before

    async def delete_limit(self, tenant_id: str, kind: LimitKind, name: str) -> RunLimit:
        key = f"{kind}:{name}"
        with self._lock:
            if (tenant_id, key) not in self._tables.limits:
                raise no_limit(kind, name)
            limit = self._tables.limits.pop((tenant_id, key))
            self._tables.limit_starts.pop((tenant_id, key), None)
            self._follow(tenant_id)
            return limit

    async def limits(self, tenant_id: str) -> list[RunLimit]:
        with self._lock:
            return _of_tenant(self._tables, tenant_id)

    async def uses(self, tenant_id: str, now: datetime) -> list[LimitUse]:
        with self._lock:
            due = [
                (one.limited_by, 1, moment)
                for one in self._tables.endpoints_of(tenant_id)
                if one.limited_by and (moment := claimable_at(one)) is not None and moment <= now
            ]
            return _uses(self._tables, tenant_id, now, waiting=due)

    def _follow(self, tenant_id: str) -> None:
        """Write the endpoints that are under other limits now, and wake the workers."""
        for endpoint in self._tables.endpoints_of(tenant_id):
            after = self._tables.under_limits(endpoint)
            if after is not endpoint:
                self._tables.put_endpoint(after)
        self._tables.wakeups.notify([tenant_id])


def _of_tenant(tables: MemoryTables, tenant_id: str) -> list[RunLimit]:
    found = [limit for (owner, _), limit in tables.limits.items() if owner == tenant_id]
    return sorted(found, key=lambda limit: (limit.kind, limit.name))


def _uses(
    tables: MemoryTables,
    tenant_id: str,
    now: datetime,
    *,
    waiting: Iterable[tuple[tuple[str, ...], int, datetime]] = (),
) -> list[LimitUse]:
    started = {
        key: [one for one in all_of_it if one.at > now - WINDOW]
        for (owner, key), all_of_it in tables.limit_starts.items()
        if owner == tenant_id
    }
    in_flight = [(keys, 1) for key, keys in tables.limited_in_flight.items() if key.tenant_id == tenant_id]
    return summed_uses(_of_tenant(tables, tenant_id), in_flight=in_flight, waiting=waiting, started=started)


def take_within_limits(
    tables: MemoryTables, now: datetime, can_run: Collection[str] | None, shares: ClaimShares
) -> dict[EndpointKey, str | None]:
    """What may be claimed now within limits, in order, each with the limit that made it late.

    It is taken at once: what begins counts, and limits that hold something back are noted.
    """
    of_tenants: dict[str, list[WaitingEndpoint]] = defaultdict(list)
    for found in tables.due.in_order_until(now, can_run):
        if shares.bounds.get(found.tenant_id, 1):
            of_tenants[found.tenant_id] += _waiting(found, tables.endpoints.__getitem__)
    if not of_tenants:
        return {}
    taken: list[Share[WaitingEndpoint]] = []
    held_by: dict[str, frozenset[str]] = {}
    for tenant_id, waiting in of_tenants.items():
        rooms = {use.limit.key: room(use, now) for use in _uses(tables, tenant_id, now)}
        admitted = admit(waiting, rooms, min(shares.limit, shares.bounds.get(tenant_id, shares.limit)))
        taken.append(Share(tenant_id, admitted.taken))
        held_by[tenant_id] = admitted.held_by
    chosen = in_turns(taken, shares, lambda one: (one.due_at, one.rank))
    late = {one.key: _held_back_by(tables, one, now) for one in chosen}
    _note(tables, chosen, held_by, now)
    return late


def _waiting(found: DueInOrder, endpoint_of: Callable[[EndpointKey], Endpoint]) -> list[WaitingEndpoint]:
    endpoints = [(endpoint_of(key), at, rank) for at, rank, key in found.entries]
    return [
        WaitingEndpoint(one.key, one.limited_by, one.priority, at, rank)
        for one, at, rank in endpoints
        if one.priority >= 0 or not found.beside_plain
    ]


def _held_back_by(tables: MemoryTables, one: WaitingEndpoint, now: datetime) -> str | None:
    limits = {key: tables.limits[one.key.tenant_id, key] for key in one.limited_by}
    return held_back_by(one, limits, now)


def _note(
    tables: MemoryTables, chosen: Iterable[WaitingEndpoint], held_by: dict[str, frozenset[str]], now: datetime
) -> None:
    for one in chosen:
        for key in one.limited_by:
            if tables.limits[one.key.tenant_id, key].max_per_minute is not None:
                started = tables.limit_starts[one.key.tenant_id, key]
                started[:] = [*(old for old in started if old.at > now - WINDOW), StartedRuns(now, 1)]
    for (tenant_id, key), limit in list(tables.limits.items()):
        held = key in held_by.get(tenant_id, frozenset())
        if tenant_id in held_by and held is (limit.held_since is None):
            tables.limits[tenant_id, key] = replace(limit, held_since=now if held else None)
