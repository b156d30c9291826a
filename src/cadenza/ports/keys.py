"""Keys that let callers in."""

from collections.abc import Collection
from typing import NamedTuple, Protocol

from cadenza.domain.access.key import ApiKey
from cadenza.ports.catalog import FIRST_PAGE, Page


class KeptKey(NamedTuple):
    """A key with the digest of its secret; the secret itself is nowhere."""

    key: ApiKey
    digest: bytes


class KeyStore(Protocol):
    """Keys by their ids, which are no secret."""

    async def add_key(self, kept: KeptKey) -> None:
        """Keep a new key; Conflict if its id is taken.

        With a key of a user, those of the tenant's users that have run out are forgotten.
        """
        ...

    async def kept_key(self, key_id: str) -> KeptKey | None:
        """A key of any tenant: who knocks has not said yet who they are."""
        ...

    async def still_kept(self, key_ids: Collection[str]) -> list[ApiKey]:
        """Those of these keys, of any tenant, that nobody has taken back; asked for with one question."""
        ...

    async def keys(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[ApiKey]:
        """A tenant's keys, in the order of their ids; those of its users are left out."""
        ...

    async def remove_key(self, tenant_id: str, key_id: str) -> None:
        """Let nobody in with it any more; NotFound if the tenant has none under this id."""
        ...


class Mint(Protocol):
    """The only source of new secrets."""

    def secret(self) -> str:
        """A word of letters and digits that nobody can guess, never given before."""
        ...
