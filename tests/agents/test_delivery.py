"""Delivery streams send undelivered messages in order, and every socket gets new ones."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.agents.delivery_fixtures import DeliveryFixture, a_socket, deliveries, texts, unreliable_deliveries

from cadenza.adapters.stores.memory import MemoryStore
from cadenza.domain.agents.delivery import Subtitle
from cadenza.domain.agents.users import User, UserKey
from cadenza.domain.errors import NotFound
from cadenza.engine.agents.delivery import POLL_MS
from cadenza.engine.agents.delivery_stream import PAGE
from cadenza.testing import FakeClock
from cadenza.testing.contracts.agents.conversation_fixtures import ANNA, BERT, COMMAND

__all__ = ["deliveries"]


async def test_who_comes_back_is_told_how_many_tasks_ran_and_what_they_said_in_order(
    deliveries: DeliveryFixture,
) -> None:
    await deliveries.add("a", "b", to_deliver=(Subtitle("1"), COMMAND, Subtitle("2")))
    await deliveries.talk.say("chat")
    async with a_socket(deliveries) as socket:
        assert (socket.stream.missed.firings, socket.stream.last_seq) == (2, 7)
        assert socket.stream.notice == "2 scheduled tasks ran while you were away"
        page = await socket.page()
        assert texts(page) == ["1", "2", "1", "2", "chat"]
        assert socket.got == [1, 2, 3, 4, 5, 6, 7]
        assert await socket.is_silent()


async def test_one_task_is_one_task_and_none_is_not_mentioned(deliveries: DeliveryFixture) -> None:
    async with a_socket(deliveries) as socket:
        assert (socket.stream.missed.firings, socket.stream.notice) == (0, None)
    await deliveries.talk.say("chat")
    async with a_socket(deliveries) as socket:
        assert (socket.stream.missed.firings, socket.stream.notice) == (0, None)
    await deliveries.add("a")
    async with a_socket(deliveries) as socket:
        assert socket.stream.notice == "1 scheduled task ran while you were away"


async def test_what_is_acknowledged_does_not_come_again_and_what_is_not_does_with_the_same_id(
    deliveries: DeliveryFixture,
) -> None:
    await deliveries.add("a", "b", "c")
    async with a_socket(deliveries) as socket:
        first = await socket.page()
        await socket.stream.acknowledge(1)
    async with a_socket(deliveries) as socket:
        assert socket.stream.notice is None, "it was sent before"
        assert await socket.page() == first[1:]
        await socket.stream.acknowledge(3)
    async with a_socket(deliveries) as socket:
        assert (socket.stream.missed.firings, await socket.is_silent()) == (0, True)


async def test_a_socket_cannot_acknowledge_what_it_was_never_sent(deliveries: DeliveryFixture) -> None:
    await deliveries.add("a")
    async with a_socket(deliveries) as socket:
        await socket.stream.acknowledge(1_000)
        assert len(await deliveries.talk.undelivered()) == 1
        await socket.page()
        await deliveries.add("b")
        await socket.stream.acknowledge(1_000)
        assert [one.seq for one in await deliveries.talk.undelivered()] == [2]
        await socket.stream.acknowledge(-1)


async def test_what_was_sent_to_a_socket_that_does_not_acknowledge_is_delivered(
    deliveries: DeliveryFixture,
) -> None:
    await deliveries.add("a", "b")
    async with a_socket(deliveries) as socket:
        page = await socket.page()
        assert len(await deliveries.talk.undelivered()) == 2
        await socket.stream.mark_delivered(page)
        assert await deliveries.talk.undelivered() == []


async def test_a_client_that_says_what_it_has_gets_the_rest(deliveries: DeliveryFixture) -> None:
    await deliveries.add("a", "b", "c")
    async with a_socket(deliveries, last_seq=2) as socket:
        assert socket.stream.missed.firings == 1
        assert texts(await socket.page()) == ["c"]
    async with a_socket(deliveries, last_seq=3) as socket:
        await deliveries.add("d")
        assert texts(await socket.page()) == ["d"]


async def test_firings_are_counted_since_the_last_socket_closed(deliveries: DeliveryFixture) -> None:
    async with a_socket(deliveries) as one, a_socket(deliveries) as two:
        assert await two.is_silent()
        await deliveries.add("live")
        assert texts(await one.page()) == ["live"]
        assert await one.is_silent()
    await deliveries.add("away")
    async with a_socket(deliveries) as socket:
        assert socket.stream.notice == "1 scheduled task ran while you were away"
        assert texts(await socket.page()) == ["live", "away"], "both are owed"
    async with a_socket(deliveries) as socket:
        assert socket.stream.notice is None
        assert texts(await socket.page()) == ["live", "away"]


async def test_who_leaves_before_the_notice_gets_it_again(deliveries: DeliveryFixture) -> None:
    await deliveries.add("a")
    for _ in range(2):
        async with a_socket(deliveries) as socket:
            assert socket.stream.notice == "1 scheduled task ran while you were away"


async def test_who_comes_back_is_told_once_what_expired(deliveries: DeliveryFixture) -> None:
    await deliveries.add("a", "b")
    deliveries.bench.pass_ms(1)
    now = deliveries.bench.clock.now()
    await deliveries.store.deliveries.forget_deliveries(delivered_before=now, undelivered_before=now)
    async with a_socket(deliveries) as socket:
        assert socket.stream.notice == "2 messages expired before you came back"
    await deliveries.add("c")
    async with a_socket(deliveries) as socket:
        told = "1 scheduled task ran while you were away; 2 messages expired before you came back"
        assert socket.stream.notice == told
        await socket.page()
    async with a_socket(deliveries) as socket:
        assert socket.stream.notice is None


@pytest.mark.parametrize("last_seq", [99, -5])
async def test_a_number_that_no_message_has_says_nothing(deliveries: DeliveryFixture, last_seq: int) -> None:
    await deliveries.add("a", "b")
    await deliveries.store.deliveries.acknowledge(ANNA, 1)
    async with a_socket(deliveries, last_seq=last_seq) as socket:
        assert texts(await socket.page()) == ["b"]


async def test_a_socket_that_has_nothing_gets_everything_from_the_beginning(
    deliveries: DeliveryFixture,
) -> None:
    await deliveries.add("a", "b", "c")
    await deliveries.store.deliveries.acknowledge(ANNA, 3)
    async with a_socket(deliveries, last_seq=0) as socket:
        assert texts(await socket.page()) == ["a", "b", "c"]
    async with a_socket(deliveries) as socket:
        assert await socket.is_silent()


async def test_a_socket_that_says_how_far_it_is_also_gets_what_another_has_acknowledged(
    deliveries: DeliveryFixture,
) -> None:
    await deliveries.add("a", "b", "c")
    await deliveries.store.deliveries.acknowledge(ANNA, 2)
    async with a_socket(deliveries, last_seq=1) as socket:
        assert texts(await socket.page()) == ["b", "c"]


async def test_new_messages_reach_every_socket_of_their_user_at_once_and_no_other(
    deliveries: DeliveryFixture,
) -> None:
    async with a_socket(deliveries) as one, a_socket(deliveries) as two, a_socket(deliveries, BERT) as other:
        reading = [asyncio.create_task(socket.page()) for socket in (one, two)]
        await asyncio.sleep(0.01)
        await deliveries.add("a")
        assert [texts(page) for page in await asyncio.gather(*reading)] == [["a"], ["a"]]
        assert await other.is_silent()


async def test_what_one_socket_acknowledged_still_reaches_the_others(deliveries: DeliveryFixture) -> None:
    async with a_socket(deliveries) as quick, a_socket(deliveries) as slow:
        await deliveries.add("a", "b")
        await quick.page()
        await quick.stream.acknowledge(2)
        assert texts(await slow.page()) == ["a", "b"]


async def test_a_slow_socket_holds_a_page_at_most_and_loses_nothing(deliveries: DeliveryFixture) -> None:
    await deliveries.add(*(f"{number}" for number in range(PAGE + 5)))
    async with a_socket(deliveries) as socket:
        assert len(await socket.page()) == PAGE
        await deliveries.add("late")
        assert len(await socket.page()) == 5
        assert texts(await socket.page()) == ["late"]
        assert socket.got == list(range(1, PAGE + 7))


async def test_a_message_that_comes_while_a_stream_opens_is_not_lost(deliveries: DeliveryFixture) -> None:
    """It comes after undelivered messages are counted, and before the first wait."""
    async with a_socket(deliveries) as socket:
        await deliveries.add("early")
        assert texts(await socket.page()) == ["early"]


async def test_a_lost_notification_is_made_up_for_by_polling(
    deliveries: DeliveryFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliveries.store.deliveries, "on_new_delivery", lambda *_: lambda: None)
    async with a_socket(deliveries) as socket, a_socket(deliveries, BERT) as other:
        reading = asyncio.create_task(socket.page())
        await asyncio.sleep(0.01)
        await deliveries.add("a")
        await asyncio.sleep(0.01)
        assert not reading.done()
        await deliveries.streams.poll()
        assert texts(await reading) == ["a"]
        assert await other.is_silent()


async def test_polling_goes_on_after_an_outage_of_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    deliveries, unreliable = unreliable_deliveries()
    await deliveries.talk.add_users_and_agents()
    monkeypatch.setattr(deliveries.store.deliveries, "on_new_delivery", lambda *_: lambda: None)
    async with a_socket(deliveries) as socket:
        reading = asyncio.create_task(socket.page())
        await asyncio.sleep(0.01)
        await deliveries.add("a")
        unreliable.away = 2
        clock = FakeClock(manual=True)
        deliveries.streams._clock = clock
        polling = asyncio.create_task(deliveries.streams.run())
        await clock.advance(2 * POLL_MS)
        assert not reading.done()
        await clock.advance(POLL_MS)
        assert texts(await asyncio.wait_for(reading, timeout=60)) == ["a"]
        polling.cancel()


async def test_a_socket_outlives_an_outage_of_the_store() -> None:
    deliveries, unreliable = unreliable_deliveries()
    await deliveries.talk.add_users_and_agents()
    await deliveries.add("a")
    async with a_socket(deliveries) as socket:
        unreliable.away = 3
        assert texts(await socket.page()) == ["a"]


async def test_an_unknown_user_gets_no_stream(deliveries: DeliveryFixture) -> None:
    with pytest.raises(NotFound, match="User nobody not found"):
        async with deliveries.streams.open(UserKey("north", "nobody")):
            pytest.fail("somebody came in")


async def test_the_streams_of_a_deleted_user_end(deliveries: DeliveryFixture) -> None:
    async with a_socket(deliveries) as socket:
        reading = asyncio.create_task(socket.page())
        await asyncio.sleep(0.01)
        await deliveries.store.users.remove_user(ANNA)
        await deliveries.streams.poll()
        with pytest.raises(StopAsyncIteration):
            await reading


async def test_a_closed_stream_is_not_notified(deliveries: DeliveryFixture) -> None:
    async with a_socket(deliveries):
        pass
    await deliveries.add("a")
    await deliveries.streams.poll()
    assert isinstance(deliveries.store, MemoryStore)
    assert deliveries.store.tables.user_wakeups._callbacks == {}
    assert deliveries.streams._streams == {}


@given(
    steps=st.lists(st.sampled_from(["owe", "read", "drop"]), max_size=30),
    says_last=st.booleans(),
)
async def test_whatever_happens_each_message_is_seen_once_and_in_order_by_who_acknowledges(
    steps: list[str], *, says_last: bool
) -> None:
    """A client that acknowledges what it reads sees every number once, however often it comes and goes."""
    deliveries = DeliveryFixture()
    await deliveries.store.users.put_user(User(tenant_id="north", id="anna"))
    seen: list[int] = []
    added = 0
    for connection_steps in _connections(steps):
        last = seen[-1] if seen and says_last else None
        async with deliveries.streams.open(ANNA, last_seq=last) as stream, aclosing(stream.pages()) as pages:
            for step in connection_steps:
                if step == "owe":
                    added += 1
                    await deliveries.add(f"{added}")
                elif step == "read" and len(seen) < added:
                    page = await anext(pages)
                    seen += [one.seq for one in page]
                    await stream.acknowledge(page[-1].seq)
    async with deliveries.streams.open(ANNA, last_seq=seen[-1] if seen and says_last else None) as stream:
        pages = stream.pages()
        while len(seen) < added:
            seen += [one.seq for one in await anext(pages)]
    assert seen == list(range(1, added + 1))


def _connections(steps: Sequence[str]) -> list[list[str]]:
    """The steps of each connection; a drop ends one."""
    connections: list[list[str]] = [[]]
    for step in steps:
        if step == "drop":
            connections.append([])
        else:
            connections[-1].append(step)
    return connections
