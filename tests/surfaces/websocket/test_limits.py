"""The socket: what it takes, how much of it, and what is said to more."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.surfaces.websocket.socket_client import dialled
from tests.surfaces.websocket.socket_server import Salon, open_salon, turned_away


@pytest.fixture
async def salon() -> AsyncIterator[Salon]:
    async with open_salon() as salon:
        yield salon


async def test_who_does_not_say_hello_is_sent_away() -> None:
    async with open_salon(hello_s=0.1) as salon, dialled(salon.address) as talker:
        assert await talker.ended() == 4401


WRONG: list[tuple[str | bytes | dict[str, Any], str]] = [
    ("{", "bad-request"),
    (b"\x00", "bad-request"),
    ("[" * 5_000, "bad-request"),
    ("[]", "invalid-request"),
    ("null", "invalid-request"),
    ('{"type": "\\ud800"}', "bad-request"),
    ({"type": ["ack"]}, "invalid-request"),
    ({"type": "shout", "text": "hi"}, "invalid-request"),
    ({"type": "ack", "seq": True}, "invalid-request"),
    ({"type": "ack", "seq": 2**63}, "invalid-request"),
    ({"type": "message", "agent_id": "helper"}, "invalid-request"),
    ({"type": "message", "agent_id": "helper", "text": "hi", "txet": "hi"}, "invalid-request"),
    ({"type": "message", "agent_id": "a b", "text": "hi"}, "invalid-request"),
    ({"type": "message", "agent_id": "nobody", "text": "hi"}, "not-found"),
    ({"type": "message", "agent_id": "helper", "text": "fail"}, "unavailable"),
    ({"type": "message", "agent_id": "helper", "text": "break"}, "unexpected"),
    ({"type": "hello", "token": "cad_a_b"}, "invalid-request"),
    ({"type": "message", "agent_id": "helper", "text": "é" * 40_000}, "too-large"),
]


async def test_whatever_a_client_sends_it_is_told_in_words_and_its_socket_works_on(salon: Salon) -> None:
    async with salon.visitor() as talker:
        for frame, kind in WRONG:
            await talker.send(frame)
            problem = await talker.hear_error()
            assert problem["type"] == f"/problems/{kind}", frame
            await asyncio.sleep(0.1)  # Not too fast.
        await talker.say("nothing at all", agent_id="nobody", id="mine")
        await talker.hear_error()
        assert talker.errors[-1]["message_id"] == "mine"
        await talker.say("well?")
        assert (await talker.hear_messages(1))[0]["text"] == "helper: well?"
    assert "a socket failed unexpectedly" in salon.log.events("warning")


async def test_a_frame_beyond_all_bounds_ends_its_socket_and_loses_nothing(salon: Salon) -> None:
    await salon.fire("a")
    async with salon.visitor() as talker:
        await talker.hear_messages(1)
        await talker.send("x" * 2_000_000)
        assert await talker.ended() == 1009
    assert await salon.undelivered() == [1]


async def test_who_sends_too_fast_is_told_so_and_what_was_taken_is_answered() -> None:
    async with open_salon(frames_per_s=5, said=100) as salon, salon.visitor() as talker:
        for number in range(40):
            await talker.say(f"{number}", id=f"m{number}")
        while len(talker.inbox) + len(talker.errors) < 40:
            await talker.hear()
        refused = {frame["message_id"] for frame in talker.errors}
        assert {frame["problem"]["status"] for frame in talker.errors} == {429}
        answered = [text.removeprefix("helper: ") for text in talker.texts]
        assert answered == [str(number) for number in range(40) if f"m{number}" not in refused]
        assert 10 <= len(answered) < 40
        for seq in range(1, talker.last_seq + 1):
            await talker.ack(seq)
        await salon.settle_owed([])
        for _ in range(150):
            await talker.send("{")
        assert await talker.ended() == 1008


async def test_more_words_than_an_agent_can_answer_are_refused() -> None:
    async with open_salon(said=2) as salon, salon.visitor() as talker:
        for words in ("think", "more", "too much"):
            await talker.say(words, id=words.replace(" ", "-"))
        assert (await talker.hear_error())["status"] == 429
        assert talker.errors[0]["message_id"] == "too-much"
        await talker.say("hi", agent_id="other")
        assert (await talker.hear_error())["status"] == 429
        salon.parrots.let_go.set()
        await talker.hear_messages(2)
        assert talker.texts == ["helper: think", "helper: more"]


async def test_what_a_user_leaves_unanswered_behind_counts_on_the_next_socket() -> None:
    async with open_salon(said=2) as salon:
        async with salon.visitor() as talker:
            await talker.say("think")
            await talker.say("more")
            await talker.ack(99)
            await talker.hear_error()  # By now, what came before was taken.
            talker.drop()
        async with salon.visitor() as back, salon.visitor("bob") as bob:
            await back.say("too much")
            assert (await back.hear_error())["status"] == 429
            await bob.say("my own", agent_id="other")
            await bob.hear_messages(1)
            salon.parrots.let_go.set()
            await back.hear_messages(2)
            await back.say("now")
            await back.hear_messages(1)
            assert back.texts == ["helper: think", "helper: more", "helper: now"]


async def test_a_user_has_only_so_many_sockets() -> None:
    async with open_salon(per_user=2) as salon, salon.visitor(), salon.visitor() as second:
        hello = {"type": "hello", "token": await salon.token()}
        assert await turned_away(salon, hello) == ("too-many-requests", 1013)
        async with salon.visitor("bob"):
            second.drop()
            await salon.gone(2)
        async with salon.visitor():
            pass
