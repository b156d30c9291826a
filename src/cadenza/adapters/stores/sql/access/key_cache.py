"""Keys that a process caches while the database tells it which were deleted."""

from collections import OrderedDict
from time import monotonic
from typing import NamedTuple, Protocol

from cadenza.adapters.stores.sql.access.keys import SqlKeys
from cadenza.adapters.stores.sql.database import Database
from cadenza.ports.access import StoredKey

CACHED_S = 5.0
MOST_CACHED = 10_000


class RemovalNotices(Protocol):
    """Hears from the database that keys were deleted."""

    hears: bool
    """Whether notifications arrive at present."""
    key_removals: int
    """How often keys may have been deleted."""

    def start(self) -> None:
        """Listen from now on; safe to call again."""
        ...


class _Entry(NamedTuple):
    stored: StoredKey
    removals: int
    until: float


class CachedKeys(SqlKeys):
    """A cached key counts until any process deletes a key, and for seconds at most.

    It counts only while notifications arrive: a process that would not be told reads each key anew.
    """

    def __init__(self, database: Database, notices: RemovalNotices) -> None:
        super().__init__(database, self._count_removals)
        self._notices = notices
        self._entries: OrderedDict[str, _Entry] = OrderedDict()

    async def stored_key(self, key_id: str) -> StoredKey | None:
        self._notices.start()
        removals, now = self._notices.key_removals, monotonic()
        entry = self._entries.get(key_id)
        if entry is not None and self._notices.hears and entry.removals == removals and now < entry.until:
            return entry.stored
        stored = await super().stored_key(key_id)
        if stored is None:
            self._entries.pop(key_id, None)
        else:
            self._add(key_id, _Entry(stored, removals, now + CACHED_S))
        return stored

    async def remove_key(self, tenant_id: str, key_id: str) -> None:
        await super().remove_key(tenant_id, key_id)
        self._database.after_commit(self._note_removal)  # Its own notification comes a moment later.

    def _note_removal(self) -> None:
        self._notices.key_removals += 1

    async def _count_removals(self) -> int:
        self._notices.start()
        if not self._notices.hears:  # Then there may have been one at any time.
            self._note_removal()
        return self._notices.key_removals

    def _add(self, key_id: str, entry: _Entry) -> None:
        """An entry that was outdated while it was read does not count: keys were deleted since."""
        self._entries[key_id] = entry
        self._entries.move_to_end(key_id)
        if len(self._entries) > MOST_CACHED:
            self._entries.popitem(last=False)
