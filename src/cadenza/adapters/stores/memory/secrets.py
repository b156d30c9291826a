"""Sealed values in a dictionary."""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.secrets import SecretEntry, SecretKey


class _StoredSecret(NamedTuple):
    sealed: str
    created_at: datetime
    updated_at: datetime


class MemorySealed:
    """Keeps sealed values as long as the process lives."""

    def __init__(self) -> None:
        self._secrets: dict[SecretKey, _StoredSecret] = {}

    async def put(self, key: SecretKey, sealed: str, *, now: datetime) -> None:
        before = self._secrets.get(key)
        self._secrets[key] = _StoredSecret(sealed, now if before is None else before.created_at, now)

    async def replace(self, key: SecretKey, sealed: str, *, instead_of: str) -> bool:
        before = self._secrets.get(key)
        if before is None or before.sealed != instead_of:
            return False
        self._secrets[key] = before._replace(sealed=sealed)
        return True

    async def find(self, keys: Collection[SecretKey]) -> dict[SecretKey, str]:
        return {key: self._secrets[key].sealed for key in keys if key in self._secrets}

    async def delete(self, key: SecretKey) -> bool:
        return self._secrets.pop(key, None) is not None

    async def names(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[SecretEntry]:
        listed = sorted(
            SecretEntry(key.name, stored.created_at, stored.updated_at)
            for key, stored in self._secrets.items()
            if key.tenant_id == tenant_id and (page.after is None or key.name > page.after)
        )
        return listed[: page.limit]

    async def keys(self, *, limit: int, after: SecretKey | None = None) -> list[SecretKey]:
        return sorted(key for key in self._secrets if after is None or key > after)[:limit]
