"""A user with channels, the channels, and processes that send messages to them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from tests.agents.delivery_fixtures import Socket

from cadenza.adapters.stores.memory import MemoryStore
from cadenza.domain.agents.channels.user_channels import UserChannels
from cadenza.domain.channel import Notice, Recipient
from cadenza.engine.agents.channel_delivery import ChannelDelivery
from cadenza.engine.agents.delivery import DeliveryStreams
from cadenza.ports.store import Store
from cadenza.testing import FakeClock, FakeIds, FakeLog, FakeTelemetry
from cadenza.testing.contracts.agents.conversation_fixtures import ANNA, ConversationFixture
from cadenza.testing.contracts.harness import Bench

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000


class Phone:
    """Channels that accept messages, or have a reason not to; `before` and `after` happen while they do."""

    def __init__(self) -> None:
        self.problems: dict[str, str] = {}
        self.tried: list[tuple[str, str]] = []
        self.accepted: list[tuple[str, str]] = []
        self.ids: list[str] = []
        self.before: Callable[[], object] = lambda: None
        self.after: Callable[[], object] = lambda: None
        self.free = asyncio.Event()
        self.free.set()

    async def send(self, notice: Notice, to: Recipient, attempt: int) -> str | None:
        del attempt
        self.before()
        await self.free.wait()
        self.tried.append((to.id, notice.text))
        problem = self.problems.get(to.id)
        if problem is None:
            self.accepted.append((to.id, notice.text))
            self.ids.append(notice.idempotency_key)
        self.after()
        await asyncio.sleep(0)
        return problem


class ChannelFixture:
    """A user with channels, and processes that serve them."""

    def __init__(self, store: Store | None = None) -> None:
        self.store = store or MemoryStore(FakeIds())
        self.clock = FakeClock(manual=True)
        bench = Bench(self.store)
        bench.clock = self.clock
        self.talk = ConversationFixture(bench)
        self.phone, self.log, self.telemetry = Phone(), FakeLog(), FakeTelemetry()

    async def set_channels(self, channels: UserChannels) -> None:
        await self.talk.add_users_and_agents()
        now = self.clock.now()
        await self.store.channels.amend_channels(ANNA, lambda _: channels, now=now, due_at=now)

    def process(self) -> ChannelDelivery:
        return ChannelDelivery(
            store=self.store.channels,
            sender=self.phone,
            clock=self.clock,
            ids=FakeIds(),
            log=self.log,
            telemetry=self.telemetry,
        )

    @asynccontextmanager
    async def running(self, *more: ChannelDelivery) -> AsyncIterator["asyncio.Task[None]"]:
        tasks = [asyncio.create_task(one.run()) for one in (self.process(), *more)]
        await self.clock.advance(0)
        yield tasks[0]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def say(self, *words: str) -> None:
        for text in words:
            await self.talk.say(text, firing=f"run-{text}")

    async def pass_time(self, span_ms: int, step_ms: int = 5 * SECOND) -> None:
        for _ in range(0, span_ms, step_ms):
            await self.clock.advance(step_ms)

    @asynccontextmanager
    async def socket(self) -> AsyncIterator[Socket]:
        streams = DeliveryStreams(store=self.store.deliveries, clock=self.clock, log=self.log)
        async with streams.open(ANNA) as stream:
            yield Socket(stream)

    @property
    def accepted(self) -> list[str]:
        return [text for _, text in self.phone.accepted]
