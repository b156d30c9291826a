"""What must not be shown."""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple, Protocol

from cadenza.ports.catalog import FIRST_PAGE, Page


class SecretKey(NamedTuple):
    """What a secret is kept under."""

    tenant_id: str
    name: str


class SecretEntry(NamedTuple):
    """What may be told of a secret: everything but its value."""

    name: str
    created_at: datetime
    updated_at: datetime


class Secrets(Protocol):
    """Knows the values that references such as `env:NAME` and `secret:NAME` stand for."""

    async def reveal(self, tenant_id: str, reference: str) -> str:
        """The value, as it is at this moment or was a second ago.

        NotFound if the tenant has none under this reference: one that is
        somebody else's, or that nobody may use, is not there at all.
        """
        ...


class SecretStore(Protocol):
    """Keeps secrets for those who write them; nothing here gives a value back."""

    async def put(self, key: SecretKey, value: str, *, now: datetime) -> None:
        """Keep a value under a key, in place of the one that may be there.

        InvalidRequest if `${secret:NAME}` could not name it or a request could
        not carry it; Unavailable if there is no key to seal it with.
        """
        ...

    async def delete(self, key: SecretKey) -> None:
        """Forget a secret; NotFound if there is none under this key."""
        ...

    async def names(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[SecretEntry]:
        """A tenant's secrets without their values, in the order of their names."""
        ...


class SealedStore(Protocol):
    """Where sealed values lie: it could not read them, and does not try."""

    async def put(self, key: SecretKey, sealed: str, *, now: datetime) -> None:
        """Keep a sealed value; one that is there is replaced, and stays as old as it was."""
        ...

    async def replace(self, key: SecretKey, sealed: str, *, instead_of: str) -> bool:
        """Put one sealed form of a value in place of another; False if that other is no longer there."""
        ...

    async def find(self, keys: Collection[SecretKey]) -> dict[SecretKey, str]:
        """The sealed values of those keys that have one, in one go."""
        ...

    async def delete(self, key: SecretKey) -> bool:
        """Forget a value; False if there is none."""
        ...

    async def names(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[SecretEntry]:
        """A tenant's secrets without their values, in the order of their names."""
        ...

    async def keys(self, *, limit: int, after: SecretKey | None = None) -> list[SecretKey]:
        """Everybody's keys, in their order, for who seals them anew."""
        ...
