"""Sealed values in a dictionary."""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.secrets import SecretEntry, SecretKey


class _Kept(NamedTuple):
    sealed: str
    created_at: datetime
    updated_at: datetime


class MemorySealed:
    """Keeps sealed values as long as the process lives."""

    def __init__(self) -> None:
        self._kept: dict[SecretKey, _Kept] = {}

    async def put(self, key: SecretKey, sealed: str, *, now: datetime) -> None:
        before = self._kept.get(key)
        self._kept[key] = _Kept(sealed, now if before is None else before.created_at, now)

    async def replace(self, key: SecretKey, sealed: str, *, instead_of: str) -> bool:
        before = self._kept.get(key)
        if before is None or before.sealed != instead_of:
            return False
        self._kept[key] = before._replace(sealed=sealed)
        return True

    async def find(self, keys: Collection[SecretKey]) -> dict[SecretKey, str]:
        return {key: self._kept[key].sealed for key in keys if key in self._kept}

    async def delete(self, key: SecretKey) -> bool:
        return self._kept.pop(key, None) is not None

    async def names(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[SecretEntry]:
        listed = sorted(
            SecretEntry(key.name, kept.created_at, kept.updated_at)
            for key, kept in self._kept.items()
            if key.tenant_id == tenant_id and (page.after is None or key.name > page.after)
        )
        return listed[: page.limit]

    async def keys(self, *, limit: int, after: SecretKey | None = None) -> list[SecretKey]:
        return sorted(key for key in self._kept if after is None or key > after)[:limit]
