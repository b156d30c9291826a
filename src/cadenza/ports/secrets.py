"""Secrets of tenants: resolving references to them, and storing them encrypted."""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple, Protocol

from cadenza.ports.catalog import FIRST_PAGE, Page


class SecretKey(NamedTuple):
    """A tenant and the name of one of its secrets."""

    tenant_id: str
    name: str


class SecretEntry(NamedTuple):
    """A secret without its value."""

    name: str
    created_at: datetime
    updated_at: datetime


class SecretResolver(Protocol):
    """Resolves references such as `env:NAME` and `secret:NAME` to values."""

    async def reveal(self, tenant_id: str, reference: str) -> str:
        """The value, as it is now or was a second ago.

        NotFound if the tenant has none under this reference, also if it belongs to
        another tenant or may not be used.
        """
        ...


class SecretStore(Protocol):
    """Stores secrets; nothing here returns a value."""

    async def put(self, key: SecretKey, value: str, *, now: datetime) -> None:
        """Store a value under a key, replacing the one that may be there.

        InvalidRequest if `${secret:NAME}` could not name it or a request could
        not carry it; Unavailable if there is no key to encrypt it with.
        """
        ...

    async def delete(self, key: SecretKey) -> None:
        """Delete a secret; NotFound if there is none under this key."""
        ...

    async def names(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[SecretEntry]:
        """A tenant's secrets without their values, in the order of their names."""
        ...


class SealedStore(Protocol):
    """Stores encrypted values, which it cannot read."""

    async def put(self, key: SecretKey, sealed: str, *, now: datetime) -> None:
        """Store an encrypted value; one that is there is replaced, and keeps its creation time."""
        ...

    async def replace(self, key: SecretKey, sealed: str, *, instead_of: str) -> bool:
        """Replace one encrypted form of a value by another; False if `instead_of` is no longer stored."""
        ...

    async def find(self, keys: Collection[SecretKey]) -> dict[SecretKey, str]:
        """The encrypted values of those keys that have one, with one query."""
        ...

    async def delete(self, key: SecretKey) -> bool:
        """Delete a value; False if there is none."""
        ...

    async def names(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[SecretEntry]:
        """A tenant's secrets without their values, in the order of their names."""
        ...

    async def keys(self, *, limit: int, after: SecretKey | None = None) -> list[SecretKey]:
        """The keys of all tenants, in order, for encrypting them again."""
        ...
