"""Wake-ups for the loops and sockets of one process."""

import asyncio
from collections.abc import Iterable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from cadenza.domain.agents.users import AgentKey, UserKey
from cadenza.ports.agents import Callback

Topic = TypeVar("Topic")


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


class TopicWakeups(Generic[Topic]):
    """Callbacks by what they are about."""

    def __init__(self) -> None:
        self._callbacks: dict[Topic, list[Callback]] = {}

    def listen(self, topic: Topic, callback: Callback) -> Callback:
        """Call it for a topic from now on; returns a function that ends this."""
        self._callbacks.setdefault(topic, []).append(callback)

        def stop() -> None:
            callbacks = self._callbacks.get(topic, [])
            if callback in callbacks:
                callbacks.remove(callback)
            if not callbacks:
                self._callbacks.pop(topic, None)

        return stop

    @property
    def topics(self) -> list[Topic]:
        """What is listened for."""
        return list(self._callbacks)

    def notify(self, topics: Iterable[Topic]) -> None:
        """Call the callbacks of these topics."""
        for topic in topics:
            for callback in list(self._callbacks.get(topic, ())):
                callback()

    def notify_all(self) -> None:
        """Call all callbacks, because notifications may have been lost."""
        self.notify(self.topics)


class UserWakeups(TopicWakeups[UserKey]):
    """Callbacks for new deliveries, by user."""

    @property
    def users(self) -> list[UserKey]:
        """Those who are listened for."""
        return self.topics


TurnWakeups = TopicWakeups[str]
"""Callbacks for changed turns by their ids, and for turns that can be taken by `agent_topic`."""


def agent_topic(agent: AgentKey) -> str:
    """The topic of an agent's turns that can be taken; no turn has such an id."""
    return f"{agent.tenant_id}\n{agent.id}"
