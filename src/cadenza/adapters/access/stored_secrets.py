"""Secrets that lie sealed in a store."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from time import monotonic
from typing import NamedTuple

from cadenza.adapters.access.secret_keys import Keys
from cadenza.adapters.stores.common import missing
from cadenza.domain.errors import InvalidRequest, Unavailable
from cadenza.domain.scheduling.target import REFERENCE
from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.secrets import SealedStore, SecretEntry, SecretKey

LONGEST_SECRET = 65_536
REMEMBERED_S = 1.0
AT_ONCE = 500
EXPIRED = (float("-inf"), "")


class Survey(NamedTuple):
    """How many secrets there are: under the current key, under an older one, and under none of ours."""

    current: int = 0
    stale: int = 0
    closed: int = 0


class StoredSecrets:
    """Seals what owners put, and opens it for dispatchers alone.

    For a second it remembers what was sealed, never what was opened: a thousand
    requests ask the store once, and a changed secret is used with the next second.
    """

    def __init__(
        self,
        sealed: SealedStore,
        keys: Keys,
        *,
        remembered_s: float = REMEMBERED_S,
        time: Callable[[], float] = monotonic,
    ) -> None:
        self._sealed = sealed
        self._keys = keys
        self._lookup = _Lookup(sealed, remembered_s, time)

    async def put(self, key: SecretKey, value: str, *, now: datetime) -> None:
        """Keep a value under a key, in place of the one that may be there."""
        _check(key.name, value)
        first = not await self._sealed.keys(limit=1)
        box = await asyncio.to_thread(self._keys.to_seal, first=first)
        await self._sealed.put(key, box.seal(value, place=key), now=now)
        self._lookup.forget(key)

    async def delete(self, key: SecretKey) -> None:
        """Forget a secret."""
        self._lookup.forget(key)
        if not await self._sealed.delete(key):
            raise missing("secret", key.name)

    async def names(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[SecretEntry]:
        """A tenant's secrets without their values."""
        return await self._sealed.names(tenant_id, page)

    async def reveal(self, tenant_id: str, reference: str) -> str:
        """The value of `secret:NAME`; Unavailable if no key of ours opens it."""
        kind, _, name = reference.partition(":")
        key = SecretKey(tenant_id, name)
        sealed = await self._lookup.get(key) if kind == "secret" else None
        if sealed is None:
            raise missing("secret", reference)
        return self._keys.to_open().open(sealed, place=key)

    async def reseal(self) -> int:
        """Seal with the current key what an older one sealed; how many that were."""
        done = 0
        async for key, sealed in self._all():
            if self._opens(key, sealed) and (box := self._keys.to_open()).is_stale(sealed):
                anew = box.seal(box.open(sealed, place=key), place=key)
                done += await self._sealed.replace(key, anew, instead_of=sealed)
        return done

    async def survey(self) -> Survey:
        """Count everybody's secrets by the key that opens them."""
        current = stale = closed = 0
        async for key, sealed in self._all():
            if not self._opens(key, sealed):
                closed += 1
            elif self._keys.to_open().is_stale(sealed):
                stale += 1
            else:
                current += 1
        return Survey(current, stale, closed)

    def _opens(self, key: SecretKey, sealed: str) -> bool:
        try:
            return self._keys.to_open().opens(sealed, place=key)
        except Unavailable:
            return False

    async def _all(self) -> AsyncIterator[tuple[SecretKey, str]]:
        after: SecretKey | None = None
        while keys := await self._sealed.keys(limit=AT_ONCE, after=after):
            for pair in (await self._sealed.find(keys)).items():
                yield pair
            after = keys[-1]


class _Lookup:
    """Asks for all that is wanted at a time in one go, one question after the other."""

    def __init__(self, sealed: SealedStore, remembered_s: float, time: Callable[[], float]) -> None:
        self._sealed = sealed
        self._remembered_s = remembered_s
        self._time = time
        self._remembered: dict[SecretKey, tuple[float, str]] = {}
        self._asking = asyncio.Lock()
        self._wanted: set[SecretKey] = set()
        self._next: asyncio.Task[dict[SecretKey, str]] | None = None

    async def get(self, key: SecretKey) -> str | None:
        """What is sealed under a key."""
        until, sealed = self._remembered.get(key, EXPIRED)
        if self._time() < until:
            return sealed
        self._wanted.add(key)
        if self._next is None:
            self._next = asyncio.get_running_loop().create_task(self._ask())
            self._next.add_done_callback(_looked_at)
        # One request that runs out of time must not take the answer from the others.
        return (await asyncio.shield(self._next)).get(key)

    def forget(self, key: SecretKey) -> None:
        """Ask anew for this one."""
        self._remembered.pop(key, None)

    async def _ask(self) -> dict[SecretKey, str]:
        await asyncio.sleep(0)  # Whoever is about to ask joins.
        async with self._asking:
            wanted, self._wanted, self._next = self._wanted, set(), None
            now = self._time()
            found = await self._sealed.find(wanted)
            self._remembered = {key: kept for key, kept in self._remembered.items() if kept[0] > now}
            self._remembered |= {key: (now + self._remembered_s, sealed) for key, sealed in found.items()}
            return found


def _looked_at(task: asyncio.Task[dict[SecretKey, str]]) -> None:
    """An error that all who asked were too late for is nobody's, and no reason for a traceback."""
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
