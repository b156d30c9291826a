"""The messages that one socket of a user is sent, in order, and their acknowledgement."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from functools import partial

from cadenza.domain.agents.channels.channel_choice import SOCKET_FIRST
from cadenza.domain.agents.delivery import Delivery, Missed, while_away_notice
from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import Unavailable
from cadenza.ports.agents import DeliveryStore
from cadenza.ports.clock import Clock
from cadenza.ports.telemetry import Logger

PAGE = 50
RETRY_MS = 1_000


class DeliveryStream:
    """Reads the next page only when the socket asks for it, so a slow socket holds one page at most."""

    __slots__ = (
        "_clock", "_log", "_new_messages", "_sent", "_store", "_user_deleted", "_without_channels_at",
        "last_seq", "missed", "received", "resumed", "user",
    )  # fmt: skip

    def __init__(self, user: UserKey, *, store: DeliveryStore, clock: Clock, log: Logger) -> None:
        self.user = user
        self.received = 0
        """The client had every message up to this number when it connected; 0 if it did not say."""
        self.resumed = False
        """Whether it said so."""
        self.last_seq = 0
        """The number of the user's last message at that time."""
        self.missed = Missed()
        """What the user had missed at that time."""
        self._store = store
        self._clock = clock
        self._log = log
        self._sent = 0
        self._without_channels_at: datetime | None = None
        self._user_deleted = False
        self._new_messages = asyncio.Event()

    def start(self, *, received: int | None, last_seq: int, missed: Missed) -> None:
        """Set the state at the time of the connection."""
        self.received = self._sent = received or 0
        self.resumed = received is not None
        self.last_seq, self.missed = last_seq, missed

    @property
    def notice(self) -> str | None:
        """The notice about what the user missed, to be sent before the pages; None if there is none."""
        return while_away_notice(self.missed)

    def notify(self) -> None:
        """There may be new messages."""
        self._new_messages.set()

    def update(self, last_seq: int | None) -> None:
        """Wake the stream if there are messages to send; None ends it, as its user was deleted."""
        if last_seq is None:
            self._user_deleted = True
        if last_seq is None or last_seq > max(self._sent, self.last_seq):
            self._new_messages.set()

    async def pages(self) -> AsyncGenerator[list[Delivery], None]:
        """Messages from before the connection, then new ones, in order and each once.

        Ends when the user is deleted. New messages come here even if another socket of
        the user acknowledged them; a client that said what it has received also gets the
        earlier ones that another socket acknowledged. What a channel accepted does not come, and
        while one is being sent a message, this waits for it.
        """
        await self._mark_sent(self.last_seq, expired=self.missed.expired)
        after, earlier = self.received, self._earlier if self.resumed else self._undelivered
        while page := await self._with_retry(partial(earlier, after)):
            yield self._sending(page)
            after = page[-1].seq
        after = self.last_seq
        while not self._user_deleted:
            self._new_messages.clear()
            while page := await self._with_retry(partial(self._new, after)):
                yield self._sending(page)
                after = page[-1].seq
                if any(one.firing is not None for one in page):
                    await self._mark_sent(after)
            await self._new_messages.wait()

    async def acknowledge(self, seq: int) -> None:
        """Mark messages up to a number as delivered, as far as this socket was sent them."""
        upto = min(seq, self._sent)
        if upto > 0:
            await self._store.acknowledge(self.user, upto)

    async def mark_delivered(self, page: Sequence[Delivery]) -> None:
        """Count a page as delivered once it was sent, for a client that does not acknowledge."""
        await self.acknowledge(page[-1].seq)

    def _sending(self, page: list[Delivery]) -> list[Delivery]:
        self._sent = max(self._sent, page[-1].seq)
        return page

    async def _mark_sent(self, upto: int, *, expired: int = 0) -> None:
        """Keep how far the user's sockets are, so that the next one knows what happened without any."""
        try:
            await self._store.mark_sent(self.user, upto, expired=expired)
        except Unavailable as problem:  # Then the next socket tells of it again.
            self._log.debug("a socket could not store its acknowledged position", problem=problem.message)

    def _undelivered(self, after: int) -> Awaitable[list[Delivery]]:
        return self._store.undelivered(self.user, after=after, upto=self.last_seq, limit=PAGE)

    def _earlier(self, after: int) -> Awaitable[list[Delivery]]:
        return self._store.deliveries(self.user, after=after, upto=self.last_seq, limit=PAGE)

    def _new(self, after: int) -> Awaitable[list[Delivery]]:
        return self._store.deliveries(self.user, after=after, limit=PAGE)

    async def _with_retry(self, read: Callable[[], Awaitable[list[Delivery]]]) -> list[Delivery]:
        """Read when no channel is sending, and try again while the store is unavailable."""
        while True:
            try:
                if await self._is_reserved():
                    return await read()
            except Unavailable as problem:
                self._log.debug("a socket waits for the store", problem=problem.message)
            await self._clock.sleep(RETRY_MS)

    async def _is_reserved(self) -> bool:
        """Whether the messages are left to this socket: no channel is sent one, nor soon will be."""
        now, found_at = self._clock.now(), self._without_channels_at
        if found_at is not None and timedelta() <= now - found_at < SOCKET_FIRST / 2:
            return True
        found = await self._store.reserve_for_socket(self.user, now=now, until=now + SOCKET_FIRST)
        self._without_channels_at = None if found.uses_channels else now
        return found.sending_until is None
