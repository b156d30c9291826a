"""Keys in the order of their moments."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from heapq import heappop, heappush

from cadenza.domain.scheduling.endpoint import EndpointKey

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


def round_robin_by_tenant(ready: Sequence[Entry], limit: int) -> list[Entry]:
    """At most `limit` entries, in rounds: every tenant's soonest, then every tenant's second, and so on."""
    if len(ready) <= limit:
        return list(ready)
    seen: dict[str, int] = defaultdict(int)
    ranked = []
    for order, entry in enumerate(ready):
        tenant_id = entry[2].tenant_id
        ranked.append((seen[tenant_id], order, entry))
        seen[tenant_id] += 1
    return [entry for _, _, entry in sorted(ranked, key=lambda ranking: ranking[:2])[:limit]]
