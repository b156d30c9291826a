"""Conversations and delivered messages are kept for a while; what is owed is kept until it is delivered."""

import asyncio
from datetime import timedelta

import pytest

from cadenza.adapters.stores.memory import MemoryStore
from cadenza.domain.agents.delivery import Missed
from cadenza.engine.retention import KEEP_CONVERSATIONS, RetentionLoop
from cadenza.ports.scheduling import Retention
from cadenza.testing import FakeClock, FakeIds, FakeLog
from cadenza.testing.contracts.agents.conversation_fixtures import ANNA, ConversationFixture
from cadenza.testing.contracts.harness import Bench

MINUTE = timedelta(minutes=1)
DAY_MS = 24 * 60 * 60_000


@pytest.mark.parametrize(
    ("kept_for", "kept"),
    [(KEEP_CONVERSATIONS, ["young?", "young!"]), (None, ["old?", "old!", "young?", "young!"])],
)
async def test_what_was_said_long_ago_is_forgotten_unless_it_is_kept_for_ever(
    kept_for: timedelta | None, kept: list[str]
) -> None:
    talk = await _talk()
    await talk.say("old")
    talk.bench.pass_ms(KEEP_CONVERSATIONS / MINUTE * 60_000 - 1_000)
    await talk.say("young")
    await _delete_old(talk, kept_for)
    assert await talk.texts() == ["old?", "old!", "young?", "young!"]
    talk.bench.pass_ms(2_000)
    await _delete_old(talk, kept_for)
    assert await talk.texts() == kept


async def test_what_is_delivered_goes_after_a_while_and_what_is_owed_stays() -> None:
    talk = await _talk()
    await talk.say("delivered")
    await talk.store.deliveries.acknowledge(ANNA, 1)
    await talk.say("owed")
    talk.bench.pass_ms(400 * DAY_MS)
    log = await _delete_old(talk, None)
    assert [one.seq for one in await talk.store.deliveries.deliveries(ANNA, after=0, limit=9)] == [2]
    assert log.lines == []


async def test_where_an_operator_lets_messages_expire_a_line_says_how_many_did() -> None:
    talk = await _talk()
    await talk.say("old")
    talk.bench.pass_ms(10 * DAY_MS)
    await talk.say("young")
    log = await _delete_old(talk, None, undelivered=timedelta(days=9))
    assert [one.seq for one in await talk.undelivered()] == [2]
    assert [(line.event, line.facts) for line in log.lines] == [
        ("undelivered messages expired", {"messages": 1})
    ]
    assert await talk.store.deliveries.missed(ANNA) == Missed(expired=1)


async def _talk() -> ConversationFixture:
    talk = ConversationFixture(Bench(MemoryStore(FakeIds())))
    await talk.add_users_and_agents()
    return talk


async def _delete_old(
    talk: ConversationFixture, conversations: timedelta | None, undelivered: timedelta | None = None
) -> FakeLog:
    """One round of upkeep; returns its log."""
    log = FakeLog()
    clock = FakeClock(talk.bench.clock.now(), manual=True)
    upkeep = RetentionLoop(
        store=talk.store,
        clock=clock,
        log=log,
        retention=Retention(),
        conversations=conversations,
        undelivered=undelivered,
    )
    task = asyncio.create_task(upkeep.run())
    await clock.advance(1)
    task.cancel()
    return log
