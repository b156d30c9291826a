"""Wake-ups for the loops and sockets of one process."""

import asyncio
from collections.abc import Iterable
from weakref import WeakSet

from cadenza.domain.agents.users import UserKey
from cadenza.ports.agents import Callback


class EventWakeup:
    """A wake-up that remembers a notification until `wait` returns for it."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def notify(self) -> None:
        """Let `wait` return."""
        self._event.set()

    async def wait(self) -> None:
        """Return when there was a notification since the last call."""
        await self._event.wait()
        self._event.clear()


class Wakeups:
    """The wake-ups of all loops that still listen."""

    def __init__(self) -> None:
        self._wakeups: WeakSet[EventWakeup] = WeakSet()

    def listen(self) -> EventWakeup:
        """A new wake-up, notified as long as it is referenced."""
        wakeup = EventWakeup()
        self._wakeups.add(wakeup)
        return wakeup

    def notify(self) -> None:
        """Notify them all."""
        for wakeup in self._wakeups:
            wakeup.notify()


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

    def notify(self, users: Iterable[UserKey]) -> None:
        """Call the callbacks of these users."""
        for user in users:
            for callback in list(self._callbacks.get(user, ())):
                callback()

    def notify_all(self) -> None:
        """Call all callbacks, because notifications may have been lost."""
        self.notify(list(self._callbacks))
