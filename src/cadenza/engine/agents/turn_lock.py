"""The lock on a conversation: one turn at a time, renewed while the agent answers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from cadenza.domain.agents.conversation import ConversationKey
from cadenza.domain.errors import CadenzaError, Conflict
from cadenza.domain.validation import milliseconds
from cadenza.ports.agents import ConversationStore
from cadenza.ports.clock import Clock
from cadenza.ports.ids import Ids

FIRST_RETRY_MS, LONGEST_RETRY_MS = 20, 500


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSettings:
    """The lease of the lock, and how long to wait for it."""

    lease_ms: int = 15_000
    """The lock of a process that died is free after this time."""
    wait_ms: int = 30_000
    """Longer than the lease, so that a message after a process died is answered and not refused."""


class TurnLock:
    """Locks conversations across all processes."""

    def __init__(
        self, *, store: ConversationStore, clock: Clock, ids: Ids, settings: TurnSettings | None = None
    ) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._settings = settings or TurnSettings()

    @asynccontextmanager
    async def hold(self, key: ConversationKey, token: str | None = None) -> AsyncIterator[str]:
        """Hold the lock; the commit of the turn releases it by its token, and so does a block that fails.

        The token of a lock that is held acquires it again: a retry of the same turn need
        not wait until the lease of a process that died has expired.
        """
        token = token or self._ids.new()
        try:
            await self._acquire(key, token)
            async with self._renewed(key, token):
                yield token
        except BaseException:
            with suppress(CadenzaError):
                await self._store.end_turn(key, token=token)
            raise

    async def _acquire(self, key: ConversationKey, token: str) -> None:
        """Conflict if the lock is not free within `wait_ms`."""
        settings, retry_ms = self._settings, FIRST_RETRY_MS
        give_up_at = self._clock.now() + milliseconds(settings.wait_ms)
        while True:
            now = self._clock.now()
            until = now + milliseconds(settings.lease_ms)
            if await self._store.begin_turn(key, token=token, now=now, until=until):
                return
            if now >= give_up_at:
                raise Conflict("The agent is busy with another message: try again in a moment.")
            await self._clock.sleep(retry_ms)
            retry_ms = min(retry_ms * 2, LONGEST_RETRY_MS)

    @asynccontextmanager
    async def _renewed(self, key: ConversationKey, token: str) -> AsyncIterator[None]:
        renewing = asyncio.create_task(self._renew(key, token))
        try:
            yield
        finally:
            renewing.cancel()
            await asyncio.wait([renewing])

    async def _renew(self, key: ConversationKey, token: str) -> None:
        lease_ms = self._settings.lease_ms
        while True:
            await self._clock.sleep(lease_ms / 3)
            await asyncio.sleep(0)  # A test clock may sleep without yielding to other tasks.
            with suppress(CadenzaError):  # Temporary; the commit checks whether the lock is still held.
                until = self._clock.now() + milliseconds(lease_ms)
                await self._store.renew_turn(key, token=token, until=until)
