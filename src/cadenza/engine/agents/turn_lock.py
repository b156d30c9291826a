"""One turn at a time: taken, kept as long as an agent thinks, and given back if nothing comes of it."""

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

FIRST_NAP_MS, LONGEST_NAP_MS = 20, 500


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSettings:
    """How long a turn is protected, and how long one waits for it."""

    lease_ms: int = 15_000
    """A turn whose process died can be taken over after so long."""
    patience_ms: int = 30_000
    """Longer than a turn is protected: who comes after a process that died is answered, and not sent away."""


class TurnTaking:
    """Takes turns of conversations, across all processes."""

    def __init__(
        self, *, store: ConversationStore, clock: Clock, ids: Ids, settings: TurnSettings | None = None
    ) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._settings = settings or TurnSettings()

    @asynccontextmanager
    async def turn(self, key: ConversationKey, token: str | None = None) -> AsyncIterator[str]:
        """Have the turn; its token is for the commit that ends it. If the block fails, it is given back.

        Whoever comes with the token of a turn that is under way, has it: what it was for
        is tried again, and need not wait until the turn of a process that died has run out.
        """
        token = token or self._ids.new()
        try:
            await self._take(key, token)
            async with self._kept(key, token):
                yield token
        except BaseException:
            with suppress(CadenzaError):
                await self._store.end_turn(key, token=token)
            raise

    async def _take(self, key: ConversationKey, token: str) -> None:
        """Wait for the turn, but not for ever."""
        settings, nap_ms = self._settings, FIRST_NAP_MS
        give_up_at = self._clock.now() + milliseconds(settings.patience_ms)
        while True:
            now = self._clock.now()
            until = now + milliseconds(settings.lease_ms)
            if await self._store.begin_turn(key, token=token, now=now, until=until):
                return
            if now >= give_up_at:
                raise Conflict("The agent is busy with another message: try again in a moment.")
            await self._clock.sleep(nap_ms)
            nap_ms = min(nap_ms * 2, LONGEST_NAP_MS)

    @asynccontextmanager
    async def _kept(self, key: ConversationKey, token: str) -> AsyncIterator[None]:
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
            await asyncio.sleep(0)  # A clock of tests may sleep without letting anybody else go on.
            with suppress(CadenzaError):  # It may pass; the commit finds out whether the turn is still ours.
                until = self._clock.now() + milliseconds(lease_ms)
                await self._store.renew_turn(key, token=token, until=until)
