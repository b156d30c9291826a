"""All sockets of a process: how many each user has, and who must leave."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import Unavailable
from cadenza.operations.agents.socket_users import Visiting
from cadenza.surfaces.http.problems import TOO_MANY, Refusal
from cadenza.surfaces.websocket.connection import NOT_ADMITTED
from cadenza.surfaces.websocket.user_socket import Session

LOOK_EVERY_S = 1.0
ASK_EVERY = 30
"""After so many looks, keys are asked for that another process may have taken back."""


class Lobby:
    """Who is here. A key that has run out, or was taken back, ends the sockets that it opened."""

    def __init__(self, visiting: Visiting, per_user: int) -> None:
        self._visiting = visiting
        self._dependencies = visiting.application.dependencies
        self._per_user = per_user
        self._here: defaultdict[UserKey, set[Session]] = defaultdict(set)

    def __len__(self) -> int:
        return sum(map(len, self._here.values()))

    @contextmanager
    def present(self, session: Session) -> Iterator[None]:
        """Somebody is here for as long as this lasts."""
        user = session.guest.user
        self._here[user].add(session)
        try:
            yield
        finally:
            self._here[user].discard(session)
            if not self._here[user]:
                del self._here[user]

    async def make_room(self, user: UserKey) -> None:
        """Let one more socket of a user in, or refuse it.

        What the user's other sockets have is written down first, so that it is not sent again.
        """
        mine = self._here.get(user, set())
        if len(mine) >= self._per_user:
            raise Refusal(TOO_MANY, f"A user may have {self._per_user} sockets, and this one has as many.")
        acking = [session.acking for session in mine if session.acking is not None]
        if acking:
            await asyncio.wait(acking, timeout=LOOK_EVERY_S)

    async def watch(self) -> None:
        """Look after everybody until cancelled."""
        turn, looks = self._dependencies.caller_cache.turn, 0
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            self._end_expired()
            looks += 1
            if looks >= ASK_EVERY or turn != self._dependencies.caller_cache.turn:
                turn, looks = self._dependencies.caller_cache.turn, 0
                with suppress(Unavailable):  # Then nobody can tell.
                    await self._visiting.streams.poll()
                    await self._end_revoked()

    def _everybody(self) -> list[Session]:
        return [session for mine in self._here.values() for session in mine]

    def _end_expired(self) -> None:
        now = self._dependencies.clock.now()
        for session in self._everybody():
            until = session.guest.expires_at
            if until is not None and until <= now:
                session.end(NOT_ADMITTED, "The token has run out; get a new one.")

    async def _end_revoked(self) -> None:
        everybody = self._everybody()
        good = await self._visiting.still_good({session.guest.key_id for session in everybody})
        for session in everybody:
            if session.guest.key_id not in good:
                session.end(NOT_ADMITTED, "The key opens nothing any more.")
