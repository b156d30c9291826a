"""Keys in a dictionary."""

from collections.abc import Collection
from threading import RLock

from cadenza.adapters.stores.common import missing, taken
from cadenza.domain.access.key import ApiKey
from cadenza.ports.access import KeptKey
from cadenza.ports.catalog import FIRST_PAGE, Page


class MemoryKeys:
    """Keys that let callers in."""

    _lock: RLock

    def __init__(self) -> None:
        super().__init__()
        self._keys: dict[str, KeptKey] = {}

    async def add_key(self, kept: KeptKey) -> None:
        with self._lock:
            if kept.key.id in self._keys:
                raise taken("key", kept.key.id)
            if kept.key.user_id is not None:
                self._forget_expired(kept.key)
            self._keys[kept.key.id] = kept

    async def kept_key(self, key_id: str) -> KeptKey | None:
        with self._lock:
            return self._keys.get(key_id)

    async def still_kept(self, key_ids: Collection[str]) -> list[ApiKey]:
        with self._lock:
            return [self._keys[key_id].key for key_id in set(key_ids) if key_id in self._keys]

    async def keys(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[ApiKey]:
        with self._lock:
            listed = [
                kept.key
                for _, kept in sorted(self._keys.items())
                if kept.key.tenant_id == tenant_id
                and kept.key.user_id is None
                and (page.after is None or kept.key.id > page.after)
            ]
        return listed[: page.limit]

    async def remove_key(self, tenant_id: str, key_id: str) -> None:
        with self._lock:
            kept = self._keys.get(key_id)
            if kept is None or kept.key.tenant_id != tenant_id:
                raise missing("key", key_id)
            del self._keys[key_id]

    def _forget_expired(self, new: ApiKey) -> None:
        for key_id, kept in list(self._keys.items()):
            key = kept.key
            if key.tenant_id == new.tenant_id and key.user_id is not None and not key.valid(new.created_at):
                del self._keys[key_id]
