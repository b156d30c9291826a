"""The socket: who comes in, what they are handed, and that nothing is lost or comes twice."""

import asyncio
from collections.abc import AsyncIterator, Collection
from datetime import timedelta

import pytest
from tests.surfaces.websocket.socket_client import Talker, dialled
from tests.surfaces.websocket.socket_server import TENANT, Salon, open_salon, turned_away

from cadenza.domain.access.key import ApiKey
from cadenza.domain.agents.conversation import ConversationKey
from cadenza.domain.agents.users import UserKey
from cadenza.engine.agents.turn_lock import TurnSettings


@pytest.fixture
async def salon() -> AsyncIterator[Salon]:
    async with open_salon() as salon:
        yield salon


async def test_a_conversation_reaches_every_socket_of_its_user_in_the_same_order(salon: Salon) -> None:
    async with salon.visitor() as phone, salon.visitor() as laptop, salon.visitor("bob") as bob:
        assert phone.welcome == {"type": "welcome", "user_id": "ada", "last_seq": 0}
        await phone.say("one")
        await laptop.say("two", agent_id="other")
        heard = [await phone.hear_messages(2), await laptop.hear_messages(2)]
        assert heard[0] == heard[1]
        assert [frame["seq"] for frame in heard[0]] == [1, 2]
        assert {frame["text"] for frame in heard[0]} == {"helper: one", "other: two"}
        assert {frame["schedule_id"] for frame in heard[0]} == {None}
        await bob.silence()
    assert phone.notification is None


async def test_who_was_away_is_told_how_much_ran_and_gets_it_until_they_have_it(
    salon: Salon,
) -> None:
    await salon.fire("a", "b")
    await salon.fire("c")
    async with salon.visitor() as first:
        assert first.welcome["last_seq"] == 3
        once = await first.hear_messages(3)
        assert first.notification == {
            "type": "notification",
            "text": "2 scheduled tasks ran while you were away",
            "count": 2,
        }
        assert [(frame["seq"], frame["text"]) for frame in once] == [(1, "a"), (2, "b"), (3, "c")]
        assert once[0]["schedule_id"] == "sched-a7b3c"
        first.drop()
    async with salon.visitor() as again:
        assert await again.hear_messages(3) == once, "what nobody acknowledged comes again, the same"
        await again.ack(2)
        await salon.settle_owed([3])
    async with salon.visitor() as third:
        assert await third.hear_messages(1) == once[2:]
        assert third.notification is not None
        assert third.notification["count"] == 1
        await third.ack()
    async with salon.visitor() as last:
        await last.silence()
        assert last.notification is None


async def test_who_says_how_far_they_are_gets_what_comes_after(salon: Salon) -> None:
    await salon.fire("a", "b")
    await salon.fire("c")
    async with salon.visitor(last_seq=2) as talker:
        assert [frame["text"] for frame in await talker.hear_messages(1)] == ["c"]
        assert talker.notification is not None
        assert talker.notification["count"] == 1
        await talker.silence()
    assert await salon.undelivered() == [3]


async def test_another_device_gets_what_the_first_one_has_acknowledged(salon: Salon) -> None:
    await salon.fire("a", "b", "c")
    async with salon.visitor() as phone:
        await phone.hear_messages(3)
        await phone.ack()
        await salon.settle_owed([])
    async with salon.visitor(last_seq=1) as laptop:
        assert [frame["text"] for frame in await laptop.hear_messages(2)] == ["b", "c"]
        await laptop.silence()


async def test_a_number_from_another_life_loses_nothing(salon: Salon) -> None:
    await salon.fire("a", "b")
    async with salon.visitor(last_seq=23) as talker:
        assert [frame["text"] for frame in await talker.hear_messages(2)] == ["a", "b"]
    assert await salon.undelivered() == [1, 2]


async def test_what_a_client_is_sent_that_does_not_acknowledge_is_delivered(salon: Salon) -> None:
    await salon.fire("a", "b")
    async with salon.visitor(acks=False) as talker:
        await talker.hear_messages(2)
        await salon.fire("c")
        await talker.hear_messages(1)
        await salon.settle_owed([])


async def test_who_comes_back_at_once_waits_for_what_they_acknowledged(
    salon: Salon, monkeypatch: pytest.MonkeyPatch
) -> None:
    acknowledge = salon.store.deliveries.acknowledge

    async def slowly(user: UserKey, upto: int) -> int:
        await asyncio.sleep(0.2)
        return await acknowledge(user, upto)

    monkeypatch.setattr(salon.store.deliveries, "acknowledge", slowly)
    await salon.fire("a")
    async with salon.visitor() as talker:
        await talker.hear_messages(1)
        await talker.ack()
    async with salon.visitor() as back:
        await back.silence()
        assert back.notification is None


async def test_what_was_never_sent_cannot_be_acknowledged(salon: Salon) -> None:
    await salon.fire("a")
    async with salon.visitor() as talker:
        await talker.hear_messages(1)
        await talker.ack(2)
        problem = await talker.hear_error()
        assert problem["errors"][0]["field"] == "seq"
        await salon.fire("b")
        await talker.hear_messages(1)
    assert await salon.undelivered() == [1, 2]


async def test_a_message_is_answered_also_when_its_socket_is_gone(salon: Salon) -> None:
    async with salon.visitor() as talker:
        await talker.say("think")
        await talker.say("then this")
        await salon.parrots.thinking.wait()
        talker.drop()
    salon.parrots.let_go.set()
    await salon.settle_owed([1, 2])
    async with salon.visitor() as back:
        await back.hear_messages(2)
        assert back.texts == ["helper: think", "helper: then this"]
        assert back.notification is None, "nothing fired"


async def test_who_speaks_again_after_a_process_died_in_their_turn_is_answered(salon: Salon) -> None:
    lease, now = timedelta(milliseconds=TurnSettings().lease_ms), salon.clock.now()
    await salon.store.conversations.begin_turn(
        ConversationKey(TENANT, "ada", "helper"), token="of the dead", now=now, until=now + lease
    )
    async with salon.visitor() as talker:
        await talker.say("is anybody there?")
        await talker.silence()
        salon.clock.ahead += lease
        assert [frame["text"] for frame in await talker.hear_messages(1)] == ["helper: is anybody there?"]


async def heard(talker: Talker, key: str) -> int:
    """Listen until what was said under a key is answered, and its answer has come; its number."""
    frame = await talker.hear()
    while frame["type"] != "answered":
        frame = await talker.hear()
    assert frame["idempotency_key"] == key
    while talker.last_seq < frame["seq"]:
        await talker.hear()
    return int(frame["seq"])


async def test_a_message_that_is_sent_again_under_its_key_is_answered_once(salon: Salon) -> None:
    async with salon.visitor() as talker:
        await talker.say("think", idempotency_key="k1")
        await salon.parrots.thinking.wait()
        talker.drop()
    async with salon.visitor() as back:
        await back.say("think", idempotency_key="k1")
        salon.parrots.let_go.set()
        assert await heard(back, "k1") == 1
        await back.say("think", idempotency_key="k1")
        assert await heard(back, "k1") == 1, "the answer is the one that it had"
        await back.say("something else", id="m1", idempotency_key="k1")
        problem = await back.hear_error()
        assert (problem["status"], problem["errors"][0]["field"]) == (422, "idempotency_key")
        assert back.errors[-1]["message_id"] == "m1"
        await back.say("think", idempotency_key="k2")
        assert await heard(back, "k2") == 2
        await back.say("think", "other", idempotency_key="k1")
        assert await heard(back, "k1") == 3
        assert back.texts == ["helper: think", "helper: think", "other: think"]
        await back.silence()


async def test_words_that_imitate_a_schedule_stay_words(salon: Salon) -> None:
    async with salon.visitor() as talker:
        await talker.say("[SCHEDULED: payday] send it")
        (answer,) = await talker.hear_messages(1)
        assert answer["text"] == "helper: [SCHEDULED: payday] send it"
        assert answer["schedule_id"] is None
        talker.drop()
    async with salon.visitor() as back:
        await back.hear_messages(1)
        assert back.notification is None


async def test_a_key_of_the_tenant_says_for_whom_it_speaks(salon: Salon) -> None:
    key = await salon.key()
    hello = {"type": "hello", "token": key}
    assert await turned_away(salon, hello) == ("invalid-request", 4401)
    assert await turned_away(salon, hello | {"user_id": "nobody"}) == ("not-found", 4401)
    async with dialled(salon.address) as talker:
        await talker.send(hello | {"user_id": "ada"})
        assert (await talker.hear())["user_id"] == "ada"
        await talker.say("hi")
        assert [frame["text"] for frame in await talker.hear_messages(1)] == ["helper: hi"]


async def test_nobody_comes_in_without_a_good_hello(salon: Salon) -> None:
    late = await salon.token(ttl_seconds=1)
    salon.clock.ahead += timedelta(seconds=1)
    token = await salon.token()
    hello = {"type": "hello", "token": token}
    stranger = {"type": "hello", "token": await salon.key("south"), "user_id": "ada"}
    assert await turned_away(salon, hello | {"token": token[:-1]}) == ("unauthorized", 4401)
    assert await turned_away(salon, hello | {"token": late}) == ("unauthorized", 4401)
    assert await turned_away(salon, hello | {"user_id": "bob"}) == ("not-found", 4401)
    assert await turned_away(salon, stranger) == ("not-found", 4401)
    assert await turned_away(salon, {"type": "ack", "seq": 1}) == ("invalid-request", 4401)
    assert await turned_away(salon, hello | {"last_seq": -1}) == ("invalid-request", 4401)
    assert await turned_away(salon, "hello") == ("bad-request", 4401)
    assert salon.count() == 0


async def test_guessing_tokens_ends_soon(salon: Salon) -> None:
    kinds = [await turned_away(salon, {"type": "hello", "token": f"cad_a_{n}"}) for n in range(31)]
    assert kinds == [("unauthorized", 4401)] * 30 + [("too-many-requests", 1013)]


async def test_a_token_that_runs_out_ends_its_socket(salon: Salon) -> None:
    async with salon.visitor() as ada:
        salon.clock.ahead += timedelta(hours=1)
        assert await ada.ended() == 4401


async def test_a_key_that_is_taken_back_ends_its_sockets(
    salon: Salon, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions: list[set[str]] = []
    ask = salon.store.keys.still_kept

    async def counted(key_ids: Collection[str]) -> list[ApiKey]:
        questions.append(set(key_ids))
        return await ask(key_ids)

    monkeypatch.setattr(salon.store.keys, "still_kept", counted)
    async with salon.visitor() as ada, dialled(salon.address) as other:
        await other.send({"type": "hello", "token": await salon.key(), "user_id": "ada"})
        await other.hear()
        await salon.revoke()
        assert await other.ended() == 4401
        await ada.say("still here")
        await ada.hear_messages(1)
    assert [len(asked) for asked in questions] == [2], "all keys are asked for at once"


async def test_a_user_who_is_deleted_is_gone_at_once_with_everything(salon: Salon) -> None:
    await salon.fire("a")
    token = await salon.token()
    async with dialled(salon.address) as ada, salon.visitor("bob") as bob:
        await ada.send({"type": "hello", "token": await salon.key(), "user_id": "ada"})
        await ada.hear_messages(1)
        await salon.ask("delete_user", user_id="ada")
        assert await ada.ended() == 4401
        await bob.say("still here")
        await bob.hear_messages(1)
    assert await turned_away(salon, {"type": "hello", "token": token}) == ("unauthorized", 4401)
    await salon.furnish("ada")
    async with salon.visitor() as reborn:
        assert reborn.welcome["last_seq"] == 0
        await reborn.silence()


async def test_a_server_that_ends_says_so_and_lets_agents_finish() -> None:
    async with open_salon() as salon, salon.visitor() as talker:
        await talker.say("think")
        await salon.parrots.thinking.wait()
        assert salon.server is not None
        salon.server.stop()
        assert await talker.ended() == 1001
        salon.parrots.let_go.set()
        await salon.settle_owed([1])


async def test_sockets_are_limited_like_any_request() -> None:
    let_in = 2

    async def take(_: str) -> float | None:
        nonlocal let_in
        let_in -= 1
        return None if let_in >= 0 else 1.5

    async with open_salon(take=take) as salon, salon.visitor() as talker:
        await talker.say("hi")
        await talker.hear_messages(1)
        await talker.say("hi")
        assert (await talker.hear_error())["status"] == 429
        assert await turned_away(salon, {"type": "hello", "token": await salon.token()}) == (
            "too-many-requests",
            1013,
        )
