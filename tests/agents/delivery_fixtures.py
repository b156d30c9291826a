"""Delivery streams of users with undelivered messages, and the sockets that read them."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from cadenza.adapters.stores.memory import MemoryStore
from cadenza.adapters.stores.memory.agents.conversations import MemoryDeliveries
from cadenza.domain.agents.delivery import Delivery, Subtitle
from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import Unavailable
from cadenza.engine.agents.delivery import DeliveryStreams
from cadenza.engine.agents.delivery_stream import DeliveryStream
from cadenza.testing import FakeIds, FakeLog
from cadenza.testing.contracts.agents.conversation_fixtures import ANNA, ConversationFixture
from cadenza.testing.contracts.harness import Bench


class DeliveryFixture:
    """Delivery streams, and users with undelivered messages."""

    def __init__(self, store: MemoryStore | None = None) -> None:
        self.bench = Bench(store or MemoryStore(FakeIds()))
        self.store = self.bench.store
        self.talk = ConversationFixture(self.bench)
        self.log = FakeLog()
        self.streams = DeliveryStreams(store=self.store.deliveries, clock=self.bench.clock, log=self.log)

    async def add(self, *texts: str, **fields: Any) -> None:
        for text in texts:
            await self.talk.say(text, firing=f"run-{text}", **fields)


@pytest.fixture
async def deliveries() -> DeliveryFixture:
    deliveries = DeliveryFixture()
    await deliveries.talk.add_users_and_agents()
    return deliveries


class Socket:
    """Reads what it is sent, as far as it is told."""

    def __init__(self, stream: DeliveryStream) -> None:
        self.stream = stream
        self.got: list[int] = []
        self._pages = stream.pages()

    async def page(self) -> list[Delivery]:
        page = await asyncio.wait_for(anext(self._pages), timeout=60)
        self.got += [one.seq for one in page]
        return page

    async def is_silent(self) -> bool:
        """Nothing more comes for now; the socket is of no use after that."""
        try:
            await asyncio.wait_for(anext(self._pages), timeout=0.02)
        except TimeoutError:
            return True
        return False


@asynccontextmanager
async def a_socket(
    deliveries: DeliveryFixture, user: UserKey = ANNA, last_seq: int | None = None
) -> AsyncIterator[Socket]:
    async with deliveries.streams.open(user, last_seq=last_seq) as stream:
        yield Socket(stream)


def texts(page: Sequence[Delivery]) -> list[str]:
    return [one.message.text for one in page if isinstance(one.message, Subtitle)]


def unreliable_deliveries() -> tuple[DeliveryFixture, "UnreliableDeliveries"]:
    store = MemoryStore(FakeIds())
    store.deliveries = unreliable = UnreliableDeliveries(store.tables)
    return DeliveryFixture(store), unreliable


class UnreliableDeliveries(MemoryDeliveries):
    """Deliveries that are unavailable for some calls."""

    away = 0

    async def last_seqs(self, users: Any) -> Any:
        self._fail()
        return await super().last_seqs(users)

    async def undelivered(self, *given: Any, **asked: Any) -> Any:
        self._fail()
        return await super().undelivered(*given, **asked)

    def _fail(self) -> None:
        if self.away:
            self.away -= 1
            raise Unavailable("away")
