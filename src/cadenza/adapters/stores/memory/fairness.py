"""Turns between tenants."""

from collections import defaultdict
from collections.abc import Sequence

from cadenza.adapters.stores.memory.due_index import Entry


def in_turns(ready: Sequence[Entry], limit: int) -> list[Entry]:
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
