"""Keys in the order of their moments."""

from collections import defaultdict
from collections.abc import Collection, Iterator
from datetime import datetime
from heapq import heappop, heappush
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from cadenza.adapters.stores.common import Share, in_turns
from cadenza.domain.access.places import ClaimShares
from cadenza.domain.scheduling.abandon import (
    LIMITED,
    Trial,
    is_in_order,
    is_limited,
    is_suspect,
    requirement_of,
    trial_of,
)
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.target import Target

Entry = tuple[datetime, int, EndpointKey]


class DueIndex:
    """A heap that forgets lazily: an entry counts only while it is its key's latest."""

    def __init__(self) -> None:
        self._heap: list[Entry] = []
        self._current: dict[EndpointKey, Entry] = {}

    def put(self, key: EndpointKey, moment: datetime | None, rank: int) -> None:
        """Enter a key at a moment, or take it out; the rank breaks ties."""
        current = self._current.get(key)
        if current is not None and current[0] == moment:
            return
        if moment is None:
            self._current.pop(key, None)
            return
        entry = (moment, rank, key)
        self._current[key] = entry
        heappush(self._heap, entry)

    def first(self) -> datetime | None:
        """The earliest moment entered."""
        while self._heap and not self._counts(self._heap[0]):
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def take_until(self, moment: datetime) -> Iterator[Entry]:
        """Take out, one by one, what lies at or before a moment; what is not wanted is put back."""
        while (first := self.first()) is not None and first <= moment:
            entry = heappop(self._heap)
            del self._current[entry[2]]
            yield entry

    def until(self, moment: datetime) -> list[Entry]:
        """What lies at or before a moment; it stays entered."""
        found = list(self.take_until(moment))
        for at, rank, key in found:
            self.put(key, at, rank)
        return found

    def _counts(self, entry: Entry) -> bool:
        return self._current.get(entry[2]) is entry


class DueInOrder(NamedTuple):
    """What a tenant has due within limits, and whether something else of it is due that has no priority."""

    tenant_id: str
    entries: list[Entry]
    beside_plain: bool


class _Place(NamedTuple):
    """Where an endpoint is entered, and what it is there for."""

    target: Target
    trial: Trial | None
    in_order: bool
    due: DueIndex


class DueByShare:
    """An index for each requirement and tenant: what a worker may not take is never looked at."""

    def __init__(self) -> None:
        self._indexes: dict[tuple[str, str], DueIndex] = defaultdict(DueIndex)
        self._places: dict[EndpointKey, _Place] = {}

    def put(self, endpoint: Endpoint, moment: datetime | None, rank: int) -> None:
        """Enter an endpoint at a moment, or take it out; its requirement may have changed."""
        key, target = endpoint.key, endpoint.target
        trial = trial_of(endpoint) if is_suspect(endpoint) else None
        place, in_order = self._places.get(key), is_in_order(endpoint)
        same = place is not None and place.target is target and place.trial is trial
        if place is None or not same or place.in_order is not in_order:
            self.remove(key)
            index = self._indexes[requirement_of(endpoint), key.tenant_id]
            place = self._places[key] = _Place(target, trial, in_order, index)
        place.due.put(key, moment, rank)

    def remove(self, key: EndpointKey) -> None:
        """Forget a key."""
        place = self._places.pop(key, None)
        if place is not None:
            place.due.put(key, None, 0)

    def first(self, can_run: Collection[str] | None, without: Collection[str]) -> datetime | None:
        """The earliest moment entered for any of these requirements, by others than these tenants."""
        moments = (
            index.first() for (_, tenant_id), index in self._chosen(can_run) if tenant_id not in without
        )
        return min((moment for moment in moments if moment is not None), default=None)

    def take_until(
        self, moment: datetime, can_run: Collection[str] | None, limits: ClaimShares
    ) -> list[EndpointKey]:
        """Take out what lies at or before a moment, within the limits; soonest first."""
        shares = [
            Share(tenant_id, list(islice(index.take_until(moment), most)))
            for (required, tenant_id), index in self._chosen(can_run)
            if not is_limited(required)
            and (most := min(limits.limit, limits.bounds.get(tenant_id, limits.limit))) > 0
        ]
        taken = sorted(in_turns(shares, limits, itemgetter(0, 1)))
        for left in {entry for share in shares for entry in share.due}.difference(taken):
            self._places[left[2]].due.put(left[2], *left[:2])
        return [key for _, _, key in taken]

    def in_order_until(self, moment: datetime, can_run: Collection[str] | None) -> Iterator[DueInOrder]:
        """What is claimed within limits and lies at or before a moment, by tenant; it stays entered."""
        for (required, tenant_id), index in list(self._chosen(can_run)):
            if is_limited(required):
                plain = self._indexes.get((required.removeprefix(LIMITED), tenant_id))
                soonest = plain.first() if plain is not None and required.startswith(LIMITED) else None
                yield DueInOrder(tenant_id, index.until(moment), soonest is not None and soonest <= moment)

    def _chosen(self, can_run: Collection[str] | None) -> Iterator[tuple[tuple[str, str], DueIndex]]:
        for place, index in self._indexes.items():
            if can_run is None or place[0] in can_run:
                yield place, index
