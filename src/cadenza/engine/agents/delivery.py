"""The delivery streams of all connected sockets, woken when their users have undelivered messages."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import NotFound
from cadenza.engine.agents.delivery_stream import DeliveryStream
from cadenza.engine.async_helpers import Attempts
from cadenza.ports.agents import DeliveryStore
from cadenza.ports.clock import Clock
from cadenza.ports.telemetry import Logger

MOST_PER_QUERY = 1_000
POLL_MS = 5_000


class DeliveryStreams:
    """Opens a stream for each socket, and wakes it when its user has new messages.

    The store notifies when it can. A notification may be lost, or a process may be
    unable to send it, so all users with a socket are also polled every few seconds,
    with one query for each thousand of them.
    """

    def __init__(self, *, store: DeliveryStore, clock: Clock, log: Logger, poll_ms: float = POLL_MS) -> None:
        self._store = store
        self._clock = clock
        self._log = log
        self._attempts = Attempts("delivery", clock, log)
        self._poll_ms = poll_ms
        self._streams: dict[DeliveryStream, None] = {}

    @asynccontextmanager
    async def open(self, user: UserKey, *, last_seq: int | None = None) -> AsyncIterator[DeliveryStream]:
        """The stream of a new socket that has every message up to `last_seq`.

        Messages up to `last_seq` are marked as delivered, and all later ones are sent, even
        if another socket of the user acknowledged them; with 0, that is every message that is kept.
        With None, undelivered messages are sent; so are they with a number that the user's messages
        have not reached.
        NotFound if there is no such user.
        """
        stream = DeliveryStream(user, store=self._store, clock=self._clock, log=self._log)
        unsubscribe = self._store.on_new_delivery(user, stream.notify)
        try:
            await self._start(stream, last_seq)
            self._streams[stream] = None
            yield stream
        finally:
            self._streams.pop(stream, None)
            unsubscribe()

    async def run(self) -> None:
        """Poll for new messages until cancelled."""
        while True:
            await self._clock.sleep(self._poll_ms)
            await self._attempts.try_once(self.poll())

    async def poll(self) -> None:
        """Wake the streams that have messages to send, and end those whose users were deleted."""
        streams = list(self._streams)
        users = list(dict.fromkeys(stream.user for stream in streams))
        found: dict[UserKey, int] = {}
        for start in range(0, len(users), MOST_PER_QUERY):
            found |= await self._store.last_seqs(users[start : start + MOST_PER_QUERY])
        for stream in streams:
            stream.update(found.get(stream.user))

    async def _start(self, stream: DeliveryStream, last_seq: int | None) -> None:
        user = stream.user
        found = await self._store.last_seqs([user])
        if user not in found:
            raise NotFound(f"User {user.id} not found.")
        received = last_seq if last_seq is not None and 0 <= last_seq <= found[user] else None
        if received:
            await self._store.acknowledge(user, received)
        stream.start(received=received, last_seq=found[user], missed=await self._store.missed(user))
