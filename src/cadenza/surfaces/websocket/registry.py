"""All sockets of a process, by user; it closes those whose key is no longer valid."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import Unavailable
from cadenza.operations.agents.socket_users import SocketUser, SocketUsers
from cadenza.surfaces.http.problems import TOO_MANY, Refusal
from cadenza.surfaces.websocket.connection import DELETED_KEY, NOT_ADMITTED
from cadenza.surfaces.websocket.limits import SocketLimits
from cadenza.surfaces.websocket.user_socket import UserSocket

CHECK_EVERY_S = 1.0
ASK_EVERY = 30
"""After so many checks, the store is asked for the keys of all sockets, also if it told of no deleted one."""


class SocketRegistry:
    """The open sockets. When a key expires or is revoked, the sockets that it opened are closed."""

    def __init__(self, socket_users: SocketUsers, limits: SocketLimits) -> None:
        self._socket_users = socket_users
        self._dependencies = socket_users.application.dependencies
        self._limits = limits
        self._of_tenants: Counter[str] = Counter()
        self._sockets: defaultdict[UserKey, dict[UserSocket, None]] = defaultdict(dict)
        self._checked_at: int | None = None
        """The store's number of removed keys when the keys of all sockets were checked."""

    def __len__(self) -> int:
        return sum(map(len, self._sockets.values()))

    @contextmanager
    def registered(self, socket: UserSocket) -> Iterator[None]:
        """Keep a socket registered for the time of this context."""
        user = socket.socket_user.user
        self._sockets[user][socket] = None
        self._of_tenants[user.tenant_id] += 1
        try:
            yield
        finally:
            del self._sockets[user][socket]
            if not self._sockets[user]:
                del self._sockets[user]
            self._of_tenants[user.tenant_id] -= 1
            if not self._of_tenants[user.tenant_id]:
                del self._of_tenants[user.tenant_id]

    async def check_limit(self, user: UserKey) -> None:
        """Refuse one more socket of a user or a tenant who has as many as allowed.

        Acknowledgements of the user's other sockets are stored first, so that nothing is sent twice.
        """
        mine = self._sockets.get(user, {})
        per_user, per_tenant = self._limits.per_user, self._limits.per_tenant
        if len(mine) >= per_user:
            raise Refusal(TOO_MANY, f"A user may have {per_user} sockets, and this one has as many.")
        if per_tenant is not None and self._of_tenants[user.tenant_id] >= per_tenant:
            raise Refusal(TOO_MANY, f"A tenant may have {per_tenant} sockets, and this one has as many.")
        acking = [socket.acking for socket in mine if socket.acking is not None]
        if acking:
            await asyncio.wait(acking, timeout=CHECK_EVERY_S)

    async def admits(self, socket_user: SocketUser) -> bool:
        """Whether a socket's key is still valid; it is read only if keys were deleted since all were."""
        removals = await self._removals()
        if removals is None or removals == self._checked_at:
            return True
        return socket_user.key_id in await self._socket_users.valid_keys({socket_user.key_id})

    async def watch(self) -> None:
        """Close sockets of expired and deleted keys until cancelled."""
        await asyncio.gather(self._watch_expiry(), self._watch_removals())

    async def _watch_expiry(self) -> None:
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            self._end_expired()

    async def _watch_removals(self) -> None:
        self._checked_at, checks = await self._removals(), 0
        while True:
            await self._dependencies.pause(CHECK_EVERY_S)
            checks += 1
            removals = await self._removals()
            if checks >= ASK_EVERY or removals != self._checked_at:
                checks = 0
                with suppress(Unavailable):  # Then nobody can tell.
                    await self._end_revoked()
                    await self._socket_users.streams.poll()
                    self._checked_at = removals

    async def _removals(self) -> int | None:
        """The store's number of removed keys; None if it does not answer."""
        with suppress(Unavailable):
            return await self._dependencies.store.keys.removals()
        return None

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
                socket.end(*DELETED_KEY)
