"""All sockets of a process, by user; it closes those whose key is no longer valid."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import Unavailable
from cadenza.operations.agents.socket_users import SocketUsers
from cadenza.surfaces.http.problems import TOO_MANY, Refusal
from cadenza.surfaces.websocket.connection import NOT_ADMITTED
from cadenza.surfaces.websocket.user_socket import UserSocket

CHECK_EVERY_S = 1.0
ASK_EVERY = 30
"""After so many checks, the store is asked for keys that another process has revoked."""


class SocketRegistry:
    """The open sockets. When a key expires or is revoked, the sockets that it opened are closed."""

    def __init__(self, socket_users: SocketUsers, per_user: int) -> None:
        self._socket_users = socket_users
        self._dependencies = socket_users.application.dependencies
        self._per_user = per_user
        self._sockets: defaultdict[UserKey, set[UserSocket]] = defaultdict(set)

    def __len__(self) -> int:
        return sum(map(len, self._sockets.values()))

    @contextmanager
    def registered(self, socket: UserSocket) -> Iterator[None]:
        """Keep a socket registered for the time of this context."""
        user = socket.socket_user.user
        self._sockets[user].add(socket)
        try:
            yield
        finally:
            self._sockets[user].discard(socket)
            if not self._sockets[user]:
                del self._sockets[user]

    async def check_limit(self, user: UserKey) -> None:
        """Refuse one more socket of a user who has as many as allowed.

        Acknowledgements of the user's other sockets are stored first, so that nothing is sent twice.
        """
        mine = self._sockets.get(user, set())
        if len(mine) >= self._per_user:
            raise Refusal(TOO_MANY, f"A user may have {self._per_user} sockets, and this one has as many.")
        acking = [socket.acking for socket in mine if socket.acking is not None]
        if acking:
            await asyncio.wait(acking, timeout=CHECK_EVERY_S)

    async def watch(self) -> None:
        """Close sockets of expired and revoked keys until cancelled."""
        version, checks = self._dependencies.caller_cache.version, 0
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            self._end_expired()
            checks += 1
            if checks >= ASK_EVERY or version != self._dependencies.caller_cache.version:
                version, checks = self._dependencies.caller_cache.version, 0
                with suppress(Unavailable):  # Then nobody can tell.
                    await self._socket_users.streams.poll()
                    await self._end_revoked()

    def _all_sockets(self) -> list[UserSocket]:
        return [socket for mine in self._sockets.values() for socket in mine]

    def _end_expired(self) -> None:
        now = self._dependencies.clock.now()
        for socket in self._all_sockets():
            until = socket.socket_user.expires_at
            if until is not None and until <= now:
                socket.end(NOT_ADMITTED, "The token has run out; get a new one.")

    async def _end_revoked(self) -> None:
        sockets = self._all_sockets()
        good = await self._socket_users.valid_keys({socket.socket_user.key_id for socket in sockets})
        for socket in sockets:
            if socket.socket_user.key_id not in good:
                socket.end(NOT_ADMITTED, "The key opens nothing any more.")
