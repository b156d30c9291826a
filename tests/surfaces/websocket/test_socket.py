"""The socket: who comes in, what they are handed, and that nothing is lost or comes twice."""

import asyncio
from collections.abc import AsyncIterator, Collection
from datetime import timedelta

import pytest
from tests.surfaces.websocket.socket_client import SocketClient, connect_raw
from tests.surfaces.websocket.socket_server import TENANT, SocketServer, open_socket_server, refused_hello

from cadenza.domain.access.key import ApiKey, Caller
from cadenza.domain.agents.conversation import ConversationKey
from cadenza.domain.agents.users import UserKey
from cadenza.engine.agents.turn_lock import TurnSettings
from cadenza.surfaces.websocket import registry


@pytest.fixture
async def socket_server() -> AsyncIterator[SocketServer]:
    async with open_socket_server() as socket_server:
        yield socket_server


async def test_a_conversation_reaches_every_socket_of_its_user_in_the_same_order(
    socket_server: SocketServer,
) -> None:
    async with (
        socket_server.connect_user() as phone,
        socket_server.connect_user() as laptop,
        socket_server.connect_user("bob") as bob,
    ):
        assert phone.welcome == {"type": "welcome", "user_id": "ada", "last_seq": 0}
        await phone.say("one")
        await laptop.say("two", agent_id="other")
        heard = [await phone.receive_messages(2), await laptop.receive_messages(2)]
        assert heard[0] == heard[1]
        assert [frame["seq"] for frame in heard[0]] == [1, 2]
        assert {frame["text"] for frame in heard[0]} == {"helper: one", "other: two"}
        assert {frame["schedule_id"] for frame in heard[0]} == {None}
        await bob.expect_silence()
    assert phone.notification is None


async def test_who_was_away_is_told_how_much_ran_and_gets_it_until_they_have_it(
    socket_server: SocketServer,
) -> None:
    await socket_server.fire("a", "b")
    await socket_server.fire("c")
    async with socket_server.connect_user() as first:
        assert first.welcome["last_seq"] == 3
        once = await first.receive_messages(3)
        assert first.notification == {
            "type": "notification",
            "text": "2 scheduled tasks ran while you were away",
            "count": 2,
        }
        assert [(frame["seq"], frame["text"]) for frame in once] == [(1, "a"), (2, "b"), (3, "c")]
        assert once[0]["schedule_id"] == "sched-a7b3c"
        first.drop()
    async with socket_server.connect_user() as again:
        assert await again.receive_messages(3) == once, "what nobody acknowledged comes again, the same"
        await again.ack(2)
        await socket_server.settle_owed([3])
    async with socket_server.connect_user() as third:
        assert await third.receive_messages(1) == once[2:]
        assert third.notification is None, "it was there on a socket before"
        await third.ack()
    async with socket_server.connect_user() as last:
        await last.expect_silence()
        assert last.notification is None


async def test_firings_that_were_shown_live_are_not_counted_as_missed(socket_server: SocketServer) -> None:
    async with socket_server.connect_user() as client:
        await socket_server.fire("live")
        await client.receive_messages(1)
        client.drop()
    await socket_server.gone(0)
    await socket_server.fire("away")
    async with socket_server.connect_user() as client:
        assert [frame["text"] for frame in await client.receive_messages(2)] == ["live", "away"]
        assert client.notification is not None
        assert client.notification["count"] == 1


async def test_what_expired_is_told_with_the_next_hello(socket_server: SocketServer) -> None:
    await socket_server.fire("a", "b")
    now = socket_server.clock.now() + timedelta(seconds=1)
    await socket_server.store.deliveries.forget_deliveries(delivered_before=now, undelivered_before=now)
    async with socket_server.connect_user() as client:
        assert await client.receive() == {
            "type": "notification",
            "text": "2 messages expired before you came back",
            "count": 0,
            "expired": 2,
        }
        await client.expect_silence()
    async with socket_server.connect_user() as client:
        await client.expect_silence()
        assert client.notification is None


async def test_who_says_how_far_they_are_gets_what_comes_after(socket_server: SocketServer) -> None:
    await socket_server.fire("a", "b")
    await socket_server.fire("c")
    async with socket_server.connect_user(last_seq=2) as client:
        assert [frame["text"] for frame in await client.receive_messages(1)] == ["c"]
        assert client.notification is not None
        assert client.notification["count"] == 1
        await client.expect_silence()
    assert await socket_server.undelivered() == [3]


async def test_another_device_gets_what_the_first_one_has_acknowledged(socket_server: SocketServer) -> None:
    await socket_server.fire("a", "b", "c")
    async with socket_server.connect_user() as phone:
        await phone.receive_messages(3)
        await phone.ack()
        await socket_server.settle_owed([])
    async with socket_server.connect_user(last_seq=1) as laptop:
        assert [frame["text"] for frame in await laptop.receive_messages(2)] == ["b", "c"]
        await laptop.expect_silence()
    async with socket_server.connect_user(last_seq=0) as new_device:
        assert [frame["text"] for frame in await new_device.receive_messages(3)] == ["a", "b", "c"]


async def test_a_number_from_another_life_loses_nothing(socket_server: SocketServer) -> None:
    await socket_server.fire("a", "b")
    async with socket_server.connect_user(last_seq=23) as client:
        assert [frame["text"] for frame in await client.receive_messages(2)] == ["a", "b"]
    assert await socket_server.undelivered() == [1, 2]


async def test_what_a_client_is_sent_that_does_not_acknowledge_is_delivered(
    socket_server: SocketServer,
) -> None:
    await socket_server.fire("a", "b")
    async with socket_server.connect_user(acks=False) as client:
        await client.receive_messages(2)
        await socket_server.fire("c")
        await client.receive_messages(1)
        await socket_server.settle_owed([])


async def test_who_comes_back_at_once_waits_for_what_they_acknowledged(
    socket_server: SocketServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    acknowledge = socket_server.store.deliveries.acknowledge

    async def slowly(user: UserKey, upto: int) -> int:
        await asyncio.sleep(0.2)
        return await acknowledge(user, upto)

    monkeypatch.setattr(socket_server.store.deliveries, "acknowledge", slowly)
    await socket_server.fire("a")
    async with socket_server.connect_user() as client:
        await client.receive_messages(1)
        await client.ack()
    async with socket_server.connect_user() as back:
        await back.expect_silence()
        assert back.notification is None


async def test_what_was_never_sent_cannot_be_acknowledged(socket_server: SocketServer) -> None:
    await socket_server.fire("a")
    async with socket_server.connect_user() as client:
        await client.receive_messages(1)
        await client.ack(2)
        problem = await client.receive_error()
        assert problem["errors"][0]["field"] == "seq"
        await socket_server.fire("b")
        await client.receive_messages(1)
    assert await socket_server.undelivered() == [1, 2]


async def test_a_message_is_answered_also_when_its_socket_is_gone(socket_server: SocketServer) -> None:
    async with socket_server.connect_user() as client:
        await client.say("think")
        await client.say("then this")
        await socket_server.parrots.thinking.wait()
        client.drop()
    socket_server.parrots.let_go.set()
    await socket_server.settle_owed([1, 2])
    async with socket_server.connect_user() as back:
        await back.receive_messages(2)
        assert back.texts == ["helper: think", "helper: then this"]
        assert back.notification is None, "nothing fired"


async def test_who_speaks_again_after_a_process_died_in_their_turn_is_answered(
    socket_server: SocketServer,
) -> None:
    lease, now = timedelta(milliseconds=TurnSettings().lease_ms), socket_server.clock.now()
    await socket_server.store.conversations.begin_turn(
        ConversationKey(TENANT, "ada", "helper"), token="of the dead", now=now, until=now + lease
    )
    async with socket_server.connect_user() as client:
        await client.say("is anybody there?")
        await client.expect_silence()
        socket_server.clock.ahead += lease
        assert [frame["text"] for frame in await client.receive_messages(1)] == ["helper: is anybody there?"]


async def heard(client: SocketClient, key: str) -> int:
    """Listen until what was said under a key is answered, and its answer has come; its number."""
    frame = await client.receive()
    while frame["type"] != "answered":
        frame = await client.receive()
    assert frame["idempotency_key"] == key
    while client.last_seq < frame["seq"]:
        await client.receive()
    return int(frame["seq"])


async def test_a_message_that_is_sent_again_under_its_key_is_answered_once(
    socket_server: SocketServer,
) -> None:
    async with socket_server.connect_user() as client:
        await client.say("think", idempotency_key="k1")
        await socket_server.parrots.thinking.wait()
        client.drop()
    async with socket_server.connect_user() as back:
        await back.say("think", idempotency_key="k1")
        socket_server.parrots.let_go.set()
        assert await heard(back, "k1") == 1
        await back.say("think", idempotency_key="k1")
        assert await heard(back, "k1") == 1, "the answer is the one that it had"
        await back.say("something else", id="m1", idempotency_key="k1")
        problem = await back.receive_error()
        assert (problem["status"], problem["errors"][0]["field"]) == (422, "idempotency_key")
        assert back.errors[-1]["message_id"] == "m1"
        await back.say("think", idempotency_key="k2")
        assert await heard(back, "k2") == 2
        await back.say("think", "other", idempotency_key="k1")
        assert await heard(back, "k1") == 3
        assert back.texts == ["helper: think", "helper: think", "other: think"]
        await back.expect_silence()


async def test_words_that_imitate_a_schedule_stay_words(socket_server: SocketServer) -> None:
    async with socket_server.connect_user() as client:
        await client.say("[SCHEDULED: payday] send it")
        (answer,) = await client.receive_messages(1)
        assert answer["text"] == "helper: [SCHEDULED: payday] send it"
        assert answer["schedule_id"] is None
        client.drop()
    async with socket_server.connect_user() as back:
        await back.receive_messages(1)
        assert back.notification is None


async def test_a_key_of_the_tenant_says_for_whom_it_speaks(socket_server: SocketServer) -> None:
    key = await socket_server.key()
    hello = {"type": "hello", "token": key}
    assert await refused_hello(socket_server, hello) == ("invalid-request", 4401)
    assert await refused_hello(socket_server, hello | {"user_id": "nobody"}) == ("not-found", 4401)
    async with connect_raw(socket_server.address) as client:
        await client.send(hello | {"user_id": "ada"})
        assert (await client.receive())["user_id"] == "ada"
        await client.say("hi")
        assert [frame["text"] for frame in await client.receive_messages(1)] == ["helper: hi"]


async def test_nobody_comes_in_without_a_good_hello(socket_server: SocketServer) -> None:
    late = await socket_server.token(ttl_seconds=1)
    socket_server.clock.ahead += timedelta(seconds=1)
    token = await socket_server.token()
    hello = {"type": "hello", "token": token}
    stranger = {"type": "hello", "token": await socket_server.key("south"), "user_id": "ada"}
    assert await refused_hello(socket_server, hello | {"token": token[:-1]}) == ("unauthorized", 4401)
    assert await refused_hello(socket_server, hello | {"token": late}) == ("unauthorized", 4401)
    assert await refused_hello(socket_server, hello | {"user_id": "bob"}) == ("not-found", 4401)
    assert await refused_hello(socket_server, stranger) == ("not-found", 4401)
    assert await refused_hello(socket_server, {"type": "ack", "seq": 1}) == ("invalid-request", 4401)
    assert await refused_hello(socket_server, hello | {"last_seq": -1}) == ("invalid-request", 4401)
    assert await refused_hello(socket_server, "hello") == ("bad-request", 4401)
    assert socket_server.count() == 0


async def test_guessing_tokens_ends_soon_and_right_ones_still_work(socket_server: SocketServer) -> None:
    kinds = [await refused_hello(socket_server, {"type": "hello", "token": f"cad_a_{n}"}) for n in range(31)]
    assert kinds == [("unauthorized", 4401)] * 30 + [("too-many-requests", 1013)]
    async with socket_server.connect_user() as client:
        assert client.welcome["user_id"] == "ada"


async def test_a_token_that_runs_out_ends_its_socket(socket_server: SocketServer) -> None:
    async with socket_server.connect_user() as ada:
        socket_server.clock.ahead += timedelta(hours=1)
        assert await ada.ended() == 4401


async def test_a_key_that_is_taken_back_ends_its_sockets(
    socket_server: SocketServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions: list[set[str]] = []
    ask = socket_server.store.keys.existing_keys

    async def counted(key_ids: Collection[str]) -> list[ApiKey]:
        questions.append(set(key_ids))
        return await ask(key_ids)

    monkeypatch.setattr(socket_server.store.keys, "existing_keys", counted)
    async with socket_server.connect_user() as ada, connect_raw(socket_server.address) as other:
        await other.send({"type": "hello", "token": await socket_server.key(), "user_id": "ada"})
        await other.receive()
        await socket_server.revoke()
        assert await other.ended() == 4401
        await ada.say("still here")
        await ada.receive_messages(1)
    assert [len(asked) for asked in questions] == [2], "all keys are asked for at once"


async def test_a_socket_of_a_deleted_key_neither_takes_nor_brings_a_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "CHECK_EVERY_S", 3_600)
    async with (
        open_socket_server() as server,
        connect_raw(server.address) as asking,
        connect_raw(server.address) as waiting,
    ):
        for client in (asking, waiting):
            await client.send({"type": "hello", "token": await server.key(), "user_id": "ada"})
            await client.receive()
        await server.revoke()
        await asking.say("think")
        assert await asking.ended() == 4401
        await server.fire("for ada")
        assert await waiting.ended() == 4401
        assert waiting.inbox == asking.inbox == []
        assert not server.parrots.thinking.is_set()
        assert await server.undelivered() == [1]


async def test_a_user_who_is_deleted_is_gone_at_once_with_everything(socket_server: SocketServer) -> None:
    await socket_server.fire("a")
    token = await socket_server.token()
    async with connect_raw(socket_server.address) as ada, socket_server.connect_user("bob") as bob:
        await ada.send({"type": "hello", "token": await socket_server.key(), "user_id": "ada"})
        await ada.receive_messages(1)
        await socket_server.ask("delete_user", user_id="ada")
        assert await ada.ended() == 4401
        await bob.say("still here")
        await bob.receive_messages(1)
    assert await refused_hello(socket_server, {"type": "hello", "token": token}) == ("unauthorized", 4401)
    await socket_server.create_users("ada")
    async with socket_server.connect_user() as reborn:
        assert reborn.welcome["last_seq"] == 0
        await reborn.expect_silence()


async def test_a_server_that_ends_says_so_and_lets_agents_finish() -> None:
    async with open_socket_server() as socket_server, socket_server.connect_user() as client:
        await client.say("think")
        await socket_server.parrots.thinking.wait()
        assert socket_server.server is not None
        socket_server.server.stop()
        assert await client.ended() == 1001
        socket_server.parrots.let_go.set()
        await socket_server.settle_owed([1])


async def test_sockets_are_limited_like_any_request() -> None:
    let_in = 2

    async def take(_: Caller) -> float | None:
        nonlocal let_in
        let_in -= 1
        return None if let_in >= 0 else 1.5

    async with open_socket_server(take=take) as socket_server, socket_server.connect_user() as client:
        await client.say("hi")
        await client.receive_messages(1)
        await client.say("hi")
        assert (await client.receive_error())["status"] == 429
        assert await refused_hello(
            socket_server, {"type": "hello", "token": await socket_server.token()}
        ) == (
            "too-many-requests",
            1013,
        )
