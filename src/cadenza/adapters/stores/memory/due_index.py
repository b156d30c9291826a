"""Keys in the order of their moments."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from heapq import heappop, heappush
from typing import NamedTuple

from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.target import Target, requirement

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

    def _counts(self, entry: Entry) -> bool:
        return self._current.get(entry[2]) is entry


class _Place(NamedTuple):
    """Where an endpoint is entered, and the target for which it is there."""

    target: Target
    requirement: str
    due: DueIndex


class DueByRequirement:
    """An index for each requirement: what a worker cannot run is never looked at."""

    def __init__(self) -> None:
        self._indexes: dict[str, DueIndex] = defaultdict(DueIndex)
        self._places: dict[EndpointKey, _Place] = {}

    def put(self, key: EndpointKey, target: Target, moment: datetime | None, rank: int) -> None:
        """Enter a key at a moment, or take it out; a new target may have another requirement."""
        place = self._places.get(key)
        if place is None or place.target is not target:
            self.remove(key)
            name = requirement(target)
            place = self._places[key] = _Place(target, name, self._indexes[name])
        place.due.put(key, moment, rank)

    def remove(self, key: EndpointKey) -> None:
        """Forget a key."""
        place = self._places.pop(key, None)
        if place is not None:
            place.due.put(key, None, 0)

    def first(self, can_run: Collection[str] | None) -> datetime | None:
        """The earliest moment entered for any of these requirements."""
        moments = (index.first() for index in self._chosen(can_run))
        return min((moment for moment in moments if moment is not None), default=None)

    def take_until(self, moment: datetime, can_run: Collection[str] | None) -> list[Entry]:
        """Take out what lies at or before a moment; what is not wanted is put back."""
        return sorted(entry for index in self._chosen(can_run) for entry in index.take_until(moment))

    def put_back(self, entry: Entry) -> None:
        """Enter again what was taken out."""
        moment, rank, key = entry
        self._places[key].due.put(key, moment, rank)

    def round_robin(self, ready: Sequence[Entry], limit: int) -> list[Entry]:
        """At most `limit` entries, in rounds: the soonest of each tenant and requirement, then the second."""
        if len(ready) <= limit:
            return list(ready)
        seen: dict[tuple[str, str], int] = defaultdict(int)
        ranked = []
        for order, entry in enumerate(ready):
            share = entry[2].tenant_id, self._places[entry[2]].requirement
            ranked.append((seen[share], order, entry))
            seen[share] += 1
        return [entry for _, _, entry in sorted(ranked, key=lambda ranking: ranking[:2])[:limit]]

    def _chosen(self, can_run: Collection[str] | None) -> list[DueIndex]:
        if can_run is None:
            return list(self._indexes.values())
        return [self._indexes[one] for one in can_run if one in self._indexes]
