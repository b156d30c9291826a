"""One socket of one user: what it is sent, in order, and what it says to have."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from functools import partial

from cadenza.domain.agents.delivery import Delivery
from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import Unavailable
from cadenza.ports.agents import DeliveryStore
from cadenza.ports.clock import Clock
from cadenza.ports.telemetry import Logger

PAGE = 50
AGAIN_MS = 1_000


class Visit:
    """Nothing is read before it is asked for, so a slow socket holds a page at most."""

    __slots__ = (
        "_clock", "_gone", "_log", "_news", "_sent", "_store", "count", "known", "last_seq", "notice", "user",
    )  # fmt: skip

    def __init__(self, user: UserKey, *, store: DeliveryStore, clock: Clock, log: Logger) -> None:
        self.user = user
        self.known = 0
        """The socket had everything up to this number when it came."""
        self.last_seq = 0
        """The number of the user's last message when it came."""
        self.count = 0
        """How many things had fired whose messages were owed then."""
        self.notice: str | None = None
        """What to say of them; None if there were none."""
        self._store = store
        self._clock = clock
        self._log = log
        self._sent = 0
        self._gone = False
        self._news = asyncio.Event()

    def welcome(self, *, known: int, last_seq: int, count: int, notice: str | None) -> None:
        """Take down how things stood when the socket came."""
        self.known = self._sent = known
        self.last_seq, self.count, self.notice = last_seq, count, notice

    def ring(self) -> None:
        """Something new may be owed."""
        self._news.set()

    def look(self, last_seq: int | None) -> None:
        """Wake it if there is more than it was sent, or if its user is gone."""
        if last_seq is None:
            self._gone = True
        if last_seq is None or last_seq > max(self._sent, self.last_seq):
            self._news.set()

    async def pages(self) -> AsyncGenerator[list[Delivery], None]:
        """What was owed when it came, then everything new, in order and each once; until the user is gone.

        What another socket of the user has acknowledged meanwhile comes here too; to a
        socket that said how far it is, also what was acknowledged before.
        """
        after, missed = self.known, self._missed if self.known else self._owed
        while page := await self._patiently(partial(missed, after)):
            yield self._sending(page)
            after = page[-1].seq
        after = self.last_seq
        while not self._gone:
            self._news.clear()
            while page := await self._patiently(partial(self._new, after)):
                yield self._sending(page)
                after = page[-1].seq
            await self._news.wait()

    async def acknowledge(self, seq: int) -> None:
        """The socket has everything up to a number; of what it was never sent, it cannot say so."""
        upto = min(seq, self._sent)
        if upto > 0:
            await self._store.acknowledge(self.user, upto)

    async def handed_over(self, page: Sequence[Delivery]) -> None:
        """A page was sent to a socket that does not acknowledge: that counts as delivered."""
        await self.acknowledge(page[-1].seq)

    def _sending(self, page: list[Delivery]) -> list[Delivery]:
        self._sent = max(self._sent, page[-1].seq)
        return page

    def _owed(self, after: int) -> Awaitable[list[Delivery]]:
        now = self._clock.now()
        return self._store.owed(self.user, after=after, upto=self.last_seq, limit=PAGE, now=now)

    def _missed(self, after: int) -> Awaitable[list[Delivery]]:
        now = self._clock.now()
        return self._store.deliveries(self.user, after=after, upto=self.last_seq, limit=PAGE, now=now)

    def _new(self, after: int) -> Awaitable[list[Delivery]]:
        return self._store.deliveries(self.user, after=after, limit=PAGE, now=self._clock.now())

    async def _patiently(self, read: Callable[[], Awaitable[list[Delivery]]]) -> list[Delivery]:
        """Read, and read again when the store is back."""
        while True:
            try:
                return await read()
            except Unavailable as problem:
                self._log.debug("a socket waits for the store", problem=problem.message)
                await self._clock.sleep(AGAIN_MS)
