"""Messages that no socket took go to a channel, once, in order, and whatever dies meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from datetime import time, timedelta
from pathlib import Path

import pytest
from tests.agents.channel_fixtures import HOUR, MINUTE, SECOND, ChannelFixture
from tests.agents.delivery_fixtures import texts

from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.agents.channels.channel_choice import TRIES
from cadenza.domain.agents.channels.quiet_hours import QuietHours
from cadenza.domain.agents.channels.user_channels import UserChannels
from cadenza.domain.agents.delivery import Subtitle
from cadenza.domain.agents.users import User
from cadenza.domain.channel import Notice, Recipient
from cadenza.domain.errors import Unavailable
from cadenza.engine.agents.channel_delivery import AT_ONCE
from cadenza.ports.telemetry import CHANNEL_MESSAGE
from cadenza.testing import FakeIds
from cadenza.testing.contracts.agents.conversation_fixtures import ANNA
from cadenza.testing.contracts.agents.user_channels import user_channels
from cadenza.testing.fakes import EmittedEvent


@pytest.fixture
async def fixture() -> ChannelFixture:
    fixture = ChannelFixture()
    await fixture.set_channels(user_channels("phone", "mail"))
    return fixture


async def test_what_no_socket_takes_reaches_the_user_in_order_and_is_not_missed(
    fixture: ChannelFixture,
) -> None:
    async with fixture.running():
        await fixture.say("one", "two", "three")
        await fixture.pass_time(25 * SECOND)
        assert fixture.accepted == []
        await fixture.pass_time(10 * SECOND)
    assert fixture.phone.accepted == [("phone", "one"), ("phone", "two"), ("phone", "three")]
    assert (await fixture.store.deliveries.missed(ANNA)).firings == 0
    assert await fixture.talk.undelivered() == []
    event = EmittedEvent(CHANNEL_MESSAGE, {"attempt": 1}, {"channel": "webhook", "result": "sent"})
    assert fixture.telemetry.events.count(event) == 3


async def test_what_a_socket_acknowledged_is_not_sent(fixture: ChannelFixture) -> None:
    async with fixture.running(), fixture.socket() as socket:
        await fixture.say("hello")
        socket.stream.update(1)
        assert texts(await socket.page()) == ["hello"]
        await socket.stream.acknowledge(1)
        await fixture.pass_time(5 * MINUTE)
    assert fixture.accepted == []


async def test_a_socket_that_does_not_acknowledge_does_not_keep_the_message(fixture: ChannelFixture) -> None:
    async with fixture.running(), fixture.socket() as socket:
        await fixture.say("hello")
        socket.stream.update(1)
        await socket.page()
        await fixture.pass_time(MINUTE)
    assert fixture.accepted == ["hello"]


async def test_a_channel_that_is_down_for_an_hour_gets_nothing_twice_and_the_next_takes_over(
    fixture: ChannelFixture,
) -> None:
    fixture.phone.problems["phone"] = "answered 503"
    async with fixture.running():
        await fixture.say("one", "two")
        await fixture.pass_time(5 * MINUTE)
        assert fixture.phone.accepted == [("mail", "one"), ("mail", "two")]
        assert fixture.phone.tried[:TRIES] == [("phone", "one")] * TRIES
        health = (await fixture.store.channels.channels(ANNA)).health["phone"]
        assert health.problem == "answered 503"
        fixture.phone.problems.clear()
        await fixture.pass_time(65 * MINUTE, MINUTE)
        await fixture.say("three")
        await fixture.pass_time(2 * MINUTE)
    assert fixture.phone.accepted[2:] == [("phone", "three")]
    assert (await fixture.store.channels.channels(ANNA)).health == {}
    logged = [line.facts["problem"] for line in fixture.log.lines if "refused" in line.event]
    assert logged == ["answered 503"] * 2


@pytest.mark.parametrize("jump_ms", [HOUR, -HOUR], ids=["forth", "back"])
async def test_all_channels_are_down_for_an_hour_on_a_clock_that_jumps(
    fixture: ChannelFixture, jump_ms: int
) -> None:
    fixture.phone.problems |= {"phone": "answered 503", "mail": "no answer"}
    async with fixture.running():
        await fixture.say("one", "two")
        await fixture.pass_time(20 * MINUTE, 10 * SECOND)
        fixture.clock.jump(jump_ms)
        await fixture.pass_time(40 * MINUTE, 10 * SECOND)
        assert fixture.accepted == []
        fixture.phone.problems.clear()
        await fixture.pass_time(2 * HOUR, MINUTE)
    assert fixture.accepted == ["one", "two"]
    assert len(fixture.phone.tried) < 60


async def test_quiet_hours_keep_the_message_until_the_morning_of_the_user(fixture: ChannelFixture) -> None:
    await fixture.store.users.put_user(User(tenant_id="north", id="anna", timezone="Asia/Tokyo"))
    await fixture.set_channels(user_channels("phone", quiet=QuietHours(time(8), time(11, 30))))
    await fixture.store.users.put_user(User(tenant_id="north", id="anna", timezone="Asia/Tokyo"))
    async with fixture.running():
        await fixture.say("hello")
        await fixture.pass_time(149 * MINUTE, MINUTE)
        assert fixture.accepted == []
        await fixture.pass_time(2 * MINUTE, MINUTE)
    assert fixture.accepted == ["hello"]


async def test_of_many_processes_one_sends_each_message(fixture: ChannelFixture) -> None:
    async with fixture.running(*(fixture.process() for _ in range(3))):
        await fixture.say("one", "two", "three")
        await fixture.pass_time(MINUTE)
    assert fixture.accepted == ["one", "two", "three"]


async def test_a_socket_that_connects_while_a_channel_is_sending_waits_and_does_not_show_it_too(
    fixture: ChannelFixture,
) -> None:
    fixture.phone.free.clear()
    async with fixture.running():
        await fixture.say("one")
        await fixture.pass_time(30 * SECOND)
        await fixture.say("two")
        async with fixture.socket() as socket:
            reading = asyncio.create_task(socket.page())
            await fixture.pass_time(5 * SECOND, SECOND)
            assert not reading.done()
            fixture.phone.free.set()
            await fixture.pass_time(5 * SECOND, SECOND)
            assert texts(await reading) == ["two"]
            await socket.stream.acknowledge(2)
            await fixture.pass_time(2 * MINUTE)
    assert fixture.accepted == ["one"]


async def test_a_socket_that_connects_while_a_channel_refuses_is_sent_the_message(
    fixture: ChannelFixture,
) -> None:
    fixture.phone.problems["phone"] = "answered 503"
    fixture.phone.free.clear()
    async with fixture.running():
        await fixture.say("one")
        await fixture.pass_time(30 * SECOND)
        async with fixture.socket() as socket:
            reading = asyncio.create_task(socket.page())
            await fixture.pass_time(SECOND, SECOND)
            fixture.phone.free.set()
            await fixture.pass_time(3 * SECOND, SECOND)
            assert texts(await reading) == ["one"]
            fixture.phone.problems.clear()
            await socket.stream.acknowledge(1)
            await fixture.pass_time(2 * MINUTE)
    assert fixture.accepted == []


async def test_a_socket_that_has_just_been_sent_a_message_has_time_to_acknowledge_it(
    fixture: ChannelFixture,
) -> None:
    await fixture.say("late")
    await fixture.clock.advance(HOUR)
    async with fixture.socket() as socket:
        assert texts(await socket.page()) == ["late"]
        async with fixture.running():
            await fixture.pass_time(10 * SECOND)
            assert fixture.accepted == []
            await socket.stream.acknowledge(1)
            await fixture.pass_time(MINUTE)
    assert fixture.accepted == []


async def test_a_bug_in_one_channel_is_a_refusal_and_stops_nobody_elses_messages(
    fixture: ChannelFixture,
) -> None:
    def fail() -> None:
        raise ZeroDivisionError("https://secret.example")

    fixture.phone.before = fail
    async with fixture.running() as task:
        await fixture.say("one")
        await fixture.pass_time(30 * SECOND)
        fixture.phone.before = lambda: None
        await fixture.pass_time(10 * MINUTE)
        assert not task.done()
    assert fixture.accepted == ["one"]
    assert "secret.example" not in repr(fixture.log.lines)


async def test_no_more_is_sent_at_once_than_a_process_may(fixture: ChannelFixture) -> None:
    fixture.phone.free.clear()
    for number in range(AT_ONCE + 5):
        user = User(tenant_id="north", id=f"user-{number:02}")
        await fixture.store.users.put_user(user)
        await fixture.store.channels.amend_channels(
            user.key, lambda _: user_channels("phone"), now=fixture.clock.now(), due_at=fixture.clock.now()
        )
        key = fixture.talk.turn("").conversation._replace(user_id=user.id)
        await fixture.talk.say(user.id, key)
    began: list[None] = []
    fixture.phone.before = lambda: began.append(None)
    async with fixture.running():
        await fixture.pass_time(30 * SECOND)
        assert len(began) == AT_ONCE
        fixture.phone.free.set()
        await fixture.pass_time(10 * SECOND)
    assert len(fixture.accepted) == AT_ONCE + 5


async def test_who_is_asked_to_stop_lets_what_is_being_sent_end(fixture: ChannelFixture) -> None:
    fixture.phone.free.clear()
    process = fixture.process()
    task = asyncio.create_task(process.run())
    await fixture.say("one", "two")
    await fixture.pass_time(30 * SECOND)
    process.stop()
    await fixture.clock.advance(SECOND)
    assert not task.done()
    fixture.phone.free.set()
    await fixture.clock.advance(SECOND)
    assert task.done()
    assert fixture.accepted == ["one"]
    assert [one.seq for one in await fixture.talk.undelivered()] == [2]


async def test_a_frozen_process_whose_claim_has_nearly_ended_does_not_send(fixture: ChannelFixture) -> None:
    take = fixture.store.channels.take_sends

    async def slowly(*given: object, **asked: object) -> object:
        taken = await take(*given, **asked)  # type: ignore[arg-type]
        if taken.sends:
            fixture.clock.jump(50 * SECOND)
        return taken

    fixture.store.channels.take_sends = slowly  # type: ignore[method-assign,assignment]
    async with fixture.running():
        await fixture.say("one")
        await fixture.pass_time(30 * SECOND)
    assert fixture.phone.tried == []


async def test_what_was_accepted_is_recorded_when_the_store_is_back(fixture: ChannelFixture) -> None:
    settle, away = fixture.store.channels.settle_send, 3

    async def unavailable(*given: object, **asked: object) -> None:
        nonlocal away
        if away:
            away -= 1
            raise Unavailable("away")
        await settle(*given, **asked)  # type: ignore[arg-type]

    fixture.store.channels.settle_send = unavailable  # type: ignore[method-assign]
    async with fixture.running():
        await fixture.say("one")
        await fixture.pass_time(3 * MINUTE, SECOND)
    assert fixture.accepted == ["one"]


@pytest.fixture
async def on_a_file(tmp_path: Path) -> AsyncIterator[ChannelFixture]:
    await migrate(f"sqlite:///{tmp_path / 'cadenza.db'}")
    store = SqliteStore(SqliteFile(tmp_path / "cadenza.db"), FakeIds())
    fixture = ChannelFixture(store)
    await fixture.set_channels(user_channels("phone", "mail"))
    yield fixture
    await store.close()


async def dies(fixture: ChannelFixture, *, after: bool) -> None:
    """A process is killed before its message leaves, or after it was accepted and before that is recorded."""
    reached = asyncio.Event()
    never = asyncio.get_running_loop().create_future()
    send = fixture.phone.send

    async def until_killed(notice: Notice, to: Recipient, attempt: int) -> str | None:
        if after:
            await send(notice, to, attempt)
        reached.set()
        await never
        raise AssertionError

    fixture.phone.send = until_killed  # type: ignore[method-assign]
    task = asyncio.create_task(fixture.process().run())
    while not reached.is_set():
        await fixture.clock.advance(SECOND)
        await asyncio.sleep(0.001)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    fixture.phone.send = send  # type: ignore[method-assign]


async def survive(fixture: ChannelFixture) -> None:
    """Another process is there while the claim of the dead one ends."""
    async with fixture.running():
        for _ in range(30):
            await fixture.clock.advance(5 * SECOND)
            await asyncio.sleep(0.01)


async def test_a_process_that_dies_between_claim_and_send_costs_the_message_a_minute_and_no_more(
    on_a_file: ChannelFixture,
) -> None:
    await on_a_file.say("one", "two")
    await dies(on_a_file, after=False)
    await survive(on_a_file)
    assert on_a_file.accepted == ["one", "two"]
    assert await on_a_file.talk.undelivered() == []


async def test_a_process_that_dies_before_it_recorded_what_was_accepted_sends_it_again_under_the_same_id(
    on_a_file: ChannelFixture,
) -> None:
    await on_a_file.say("one", "two")
    await dies(on_a_file, after=True)
    await survive(on_a_file)
    assert on_a_file.accepted == ["one", "one", "two"]
    assert on_a_file.phone.ids == ["message-run-one.1", "message-run-one.1", "message-run-two.1"]
    assert (await on_a_file.store.deliveries.missed(ANNA)).firings == 0


async def test_words_without_channels_stay_for_a_socket(fixture: ChannelFixture) -> None:
    await fixture.set_channels(UserChannels())
    async with fixture.running():
        await fixture.say("one")
        await fixture.pass_time(HOUR, MINUTE)
        async with fixture.socket() as socket:
            (page,) = [await socket.page()]
            assert [one.message for one in page] == [Subtitle("one")]
    assert fixture.phone.tried == []
    assert fixture.clock.now() - page[0].owed_at >= timedelta(hours=1)
