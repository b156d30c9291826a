"""Wake-ups for the loops and sockets of one process."""

import asyncio
from collections.abc import Iterable
from weakref import WeakKeyDictionary

from cadenza.domain.agents.users import UserKey
from cadenza.ports.agents import Callback


class EventWakeup:
    """A wake-up that remembers a notification until `wait` returns for it."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._tenants: set[str] | None = set()

    def notify(self, tenants: Iterable[str] | None = None) -> None:
        """Let `wait` return; None for tenants that are not known."""
        if tenants is None:
            self._tenants = None
        elif self._tenants is not None:
            self._tenants.update(tenants)
        self._event.set()

    async def wait(self) -> set[str] | None:
        """Return when there was a notification since the last call, with the tenants that it was about."""
        await self._event.wait()
        self._event.clear()
        tenants, self._tenants = self._tenants, set()
        return tenants


class Wakeups:
    """The wake-ups of all loops that still listen."""

    def __init__(self) -> None:
        self._wakeups: WeakKeyDictionary[EventWakeup, None] = WeakKeyDictionary()
        """In the order in which they began to listen."""

    def listen(self) -> EventWakeup:
        """A new wake-up, notified as long as it is referenced."""
        wakeup = EventWakeup()
        self._wakeups[wakeup] = None
        return wakeup

    def notify(self, tenants: Iterable[str] | None = None) -> None:
        """Notify them all of changed endpoints of these tenants, or of some that are not known."""
        named = None if tenants is None else set(tenants)
        for wakeup in list(self._wakeups):
            wakeup.notify(named)


class UserWakeups:
    """Callbacks for new deliveries, by user."""

    def __init__(self) -> None:
        self._callbacks: dict[UserKey, list[Callback]] = {}

    def listen(self, user: UserKey, callback: Callback) -> Callback:
        """Call it for a user from now on; returns a function that ends this."""
        self._callbacks.setdefault(user, []).append(callback)

        def stop() -> None:
            callbacks = self._callbacks.get(user, [])
            if callback in callbacks:
                callbacks.remove(callback)
            if not callbacks:
                self._callbacks.pop(user, None)

        return stop

    @property
    def users(self) -> list[UserKey]:
        """Those who are listened for."""
        return list(self._callbacks)

    def notify(self, users: Iterable[UserKey]) -> None:
        """Call the callbacks of these users."""
        for user in users:
            for callback in list(self._callbacks.get(user, ())):
                callback()

    def notify_all(self) -> None:
        """Call all callbacks, because notifications may have been lost."""
        self.notify(self.users)
