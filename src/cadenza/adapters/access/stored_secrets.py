"""Secrets that are stored encrypted."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from time import monotonic
from typing import NamedTuple

from cadenza.adapters.access.secret_keys import KeySource
from cadenza.adapters.stores.common import not_found
from cadenza.domain.errors import InvalidRequest, Unavailable
from cadenza.domain.http_request import REFERENCE
from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.secrets import SealedStore, SecretEntry, SecretKey

LONGEST_SECRET = 65_536
CACHED_S = 1.0
BATCH = 500
EXPIRED = (float("-inf"), "")


class SecretCounts(NamedTuple):
    """Stored secrets by key: the current one, an older one, or none that is set."""

    current: int = 0
    stale: int = 0
    closed: int = 0


class StoredSecrets:
    """Encrypts secrets for the store, and decrypts them for dispatchers alone.

    The encrypted values are cached for a second, decrypted ones never: a thousand
    requests read the store once, and a changed secret is used a second later.
    """

    def __init__(
        self,
        sealed: SealedStore,
        keys: KeySource,
        *,
        cached_s: float = CACHED_S,
        time: Callable[[], float] = monotonic,
    ) -> None:
        self._sealed = sealed
        self._keys = keys
        self._lookup = _BatchedLookup(sealed, cached_s, time)

    async def put(self, key: SecretKey, value: str, *, now: datetime) -> None:
        """Store a value under a key, replacing the one that may be there."""
        _check(key.name, value)
        first = not await self._sealed.keys(limit=1)
        box = await asyncio.to_thread(self._keys.sealing_box, first=first)
        await self._sealed.put(key, box.seal(value, place=key), now=now)
        self._lookup.forget(key)

    async def delete(self, key: SecretKey) -> None:
        """Delete a secret."""
        self._lookup.forget(key)
        if not await self._sealed.delete(key):
            raise not_found("secret", key.name)

    async def names(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[SecretEntry]:
        """A tenant's secrets without their values."""
        return await self._sealed.names(tenant_id, page)

    async def reveal(self, tenant_id: str, reference: str) -> str:
        """The value of `secret:NAME`; Unavailable if none of the keys decrypts it."""
        kind, _, name = reference.partition(":")
        key = SecretKey(tenant_id, name)
        sealed = await self._lookup.get(key) if kind == "secret" else None
        if sealed is None:
            raise not_found("secret", reference)
        try:
            return self._keys.opening_box().open(sealed, place=key)
        except Unavailable as problem:
            raise Unavailable(f"The secret {name} cannot be opened. {problem.message}") from None

    async def reseal(self) -> int:
        """Encrypt with the current key what an older one encrypted; how many there were."""
        done = 0
        async for key, sealed in self._all():
            if self._opens(key, sealed) and (box := self._keys.opening_box()).is_stale(sealed):
                anew = box.seal(box.open(sealed, place=key), place=key)
                done += await self._sealed.replace(key, anew, instead_of=sealed)
        return done

    async def count_by_key(self) -> SecretCounts:
        """Count the secrets of all tenants by the key that decrypts them."""
        current = stale = closed = 0
        async for key, sealed in self._all():
            if not self._opens(key, sealed):
                closed += 1
            elif self._keys.opening_box().is_stale(sealed):
                stale += 1
            else:
                current += 1
        return SecretCounts(current, stale, closed)

    def _opens(self, key: SecretKey, sealed: str) -> bool:
        try:
            return self._keys.opening_box().opens(sealed, place=key)
        except Unavailable:
            return False

    async def _all(self) -> AsyncIterator[tuple[SecretKey, str]]:
        after: SecretKey | None = None
        while keys := await self._sealed.keys(limit=BATCH, after=after):
            for pair in (await self._sealed.find(keys)).items():
                yield pair
            after = keys[-1]


class _BatchedLookup:
    """Reads all values that are wanted at the same time with one query."""

    def __init__(self, sealed: SealedStore, cached_s: float, time: Callable[[], float]) -> None:
        self._sealed = sealed
        self._cached_s = cached_s
        self._time = time
        self._cached: dict[SecretKey, tuple[float, str]] = {}
        self._reading = asyncio.Lock()
        self._wanted: set[SecretKey] = set()
        self._next: asyncio.Task[dict[SecretKey, str]] | None = None

    async def get(self, key: SecretKey) -> str | None:
        """The encrypted value of a key."""
        until, sealed = self._cached.get(key, EXPIRED)
        if self._time() < until:
            return sealed
        self._wanted.add(key)
        if self._next is None:
            self._next = asyncio.get_running_loop().create_task(self._read())
            self._next.add_done_callback(_retrieve_error)
        # A request that times out must not cancel the query for the others.
        return (await asyncio.shield(self._next)).get(key)

    def forget(self, key: SecretKey) -> None:
        """Drop a key from the cache."""
        self._cached.pop(key, None)

    async def _read(self) -> dict[SecretKey, str]:
        await asyncio.sleep(0)  # Let other requests join.
        async with self._reading:
            wanted, self._wanted, self._next = self._wanted, set(), None
            now = self._time()
            found = await self._sealed.find(wanted)
            # A list at once: a secret may be dropped by the thread that writes it.
            cached = list(self._cached.items())
            self._cached = {key: entry for key, entry in cached if entry[0] > now}
            self._cached |= {key: (now + self._cached_s, sealed) for key, sealed in found.items()}
            return found


def _retrieve_error(task: asyncio.Task[dict[SecretKey, str]]) -> None:
    """Mark an error as seen when all requests have timed out, so that asyncio logs no traceback."""
    if not task.cancelled():
        task.exception()


def _check(name: str, value: str) -> None:
    if not REFERENCE.fullmatch(f"${{secret:{name}}}"):
        message = "name must be 1 to 128 letters, digits, underscores, full stops and hyphens."
        raise InvalidRequest(message, "name")
    if not 0 < len(value) <= LONGEST_SECRET:
        raise InvalidRequest(f"value must have 1 to {LONGEST_SECRET} characters.", "value")
    try:
        value.encode()
    except UnicodeError:
        raise InvalidRequest("value must be a text.", "value") from None
