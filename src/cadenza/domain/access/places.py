"""How the places of a worker are shared, and how many claims they stand for."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

PER_FREE_PLACE = 4
"""A tenant may hold so many places for each one that is free: alone four of five, one of two four of nine."""
SMALLER_CLAIMS = 4
UNSEEN = 100
"""So many runs are thought to have waited beside those that were seen: a few say little about the next."""
AHEAD_MS = 100
"""Claims that need no place are taken for about so long."""
NO_BOUNDS: Mapping[str, int] = MappingProxyType({})


class ClaimShares(NamedTuple):
    """How much a worker claims at most."""

    limit: int
    """Of all tenants together."""
    bounds: Mapping[str, int] = NO_BOUNDS
    """Of single tenants, which come after those that are not named; none of a tenant whose bound is 0."""


class RecentRuns(NamedTuple):
    """How the latest runs went, older ones counted in part."""

    ended: float = 0
    """Those that ended without waiting for anything."""
    waited: float = 0
    busy_ms: float = 0
    """How long those took together that did not wait."""


def claims_for(places: int, recent: RecentRuns) -> int:
    """How many claims so many free places stand for.

    1. Each stands for one run that waits, and for as many that do not as there are for each that waits.
    2. But what does not wait takes the time of the process, one run after the other: beyond the places,
       no more are claimed than end soon.
    """
    ended, waited, busy_ms = recent
    by_part = places * ended / (waited + UNSEEN)
    by_time = ended * AHEAD_MS / busy_ms if busy_ms else by_part
    return places + int(min(by_part, by_time))


def places_for(held: int, free: int) -> int:
    """How many more places a tenant may take that holds some: each while it holds less than its share.

    Its share grows with the places that are free, so that some stay free for tenants that have none,
    however many there are; but of fewer than five places one tenant may hold all.
    """
    return max(0, min(free, (PER_FREE_PLACE * (free + 1) - held) // (PER_FREE_PLACE + 1)))


def claim_shares(held: Mapping[str, int], *, free: int, most: int) -> ClaimShares:
    """How much is claimed at most, given what each tenant holds.

    One claim takes no more than one tenant might. Where a claim of a quarter of that or more keeps every
    tenant within its share, it is made without bounds, which cost the store more.
    """
    limit = min(places_for(0, free), most)
    bounds = {tenant_id: places_for(count, free) for tenant_id, count in held.items()}
    least = min(bounds.values(), default=limit)
    if SMALLER_CLAIMS * least >= limit:
        return ClaimShares(min(least, limit))
    return ClaimShares(limit, {tenant_id: bound for tenant_id, bound in bounds.items() if bound < limit})
