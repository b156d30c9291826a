"""The socket: what it takes, how much of it, and what is said to more."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack
from typing import Any

import pytest
from tests.surfaces.websocket.socket_client import connect_raw, connect_with_token
from tests.surfaces.websocket.socket_server import SocketServer, open_socket_server, refused_hello

from cadenza.domain.agents.users import User
from cadenza.surfaces.websocket.connection import CLOSE_NOW, SocketConnection
from cadenza.surfaces.websocket.limits import WaitingClients


@pytest.fixture
async def socket_server() -> AsyncIterator[SocketServer]:
    async with open_socket_server() as socket_server:
        yield socket_server


async def test_who_does_not_say_hello_is_sent_away() -> None:
    async with open_socket_server(hello_s=0.1) as socket_server, connect_raw(socket_server.address) as client:
        assert await client.ended() == 4401


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


async def test_whatever_a_client_sends_it_is_told_in_words_and_its_socket_works_on(
    socket_server: SocketServer,
) -> None:
    async with socket_server.connect_user() as client:
        for frame, kind in WRONG:
            await client.send(frame)
            problem = await client.receive_error()
            assert problem["type"] == f"/problems/{kind}", frame
            await asyncio.sleep(0.1)  # Not too fast.
        await client.say("nothing at all", agent_id="nobody", id="mine")
        await client.receive_error()
        assert client.errors[-1]["message_id"] == "mine"
        await client.say("well?")
        assert (await client.receive_messages(1))[0]["text"] == "helper: well?"
    assert "a socket failed unexpectedly" in socket_server.log.events("warning")


async def test_a_frame_beyond_all_bounds_ends_its_socket_and_loses_nothing(
    socket_server: SocketServer,
) -> None:
    await socket_server.fire("a")
    async with socket_server.connect_user() as client:
        await client.receive_messages(1)
        await client.send("x" * 2_000_000)
        assert await client.ended() == 1009
    assert await socket_server.undelivered() == [1]


async def test_who_sends_too_fast_is_told_so_and_what_was_taken_is_answered() -> None:
    async with (
        open_socket_server(frames_per_s=5, unanswered=100) as socket_server,
        socket_server.connect_user() as client,
    ):
        for number in range(40):
            await client.say(f"{number}", id=f"m{number}")
        while len(client.inbox) + len(client.errors) < 40:
            await client.receive()
        refused = {frame["message_id"] for frame in client.errors}
        assert {frame["problem"]["status"] for frame in client.errors} == {429}
        answered = [text.removeprefix("helper: ") for text in client.texts]
        assert answered == [str(number) for number in range(40) if f"m{number}" not in refused]
        assert 10 <= len(answered) < 40
        for seq in range(1, client.last_seq + 1):
            await client.ack(seq)
        await socket_server.settle_owed([])
        for _ in range(150):
            await client.send("{")
        assert await client.ended() == 1008


async def test_more_words_than_an_agent_can_answer_are_refused() -> None:
    async with open_socket_server(unanswered=2) as socket_server, socket_server.connect_user() as client:
        for words in ("think", "more", "too much"):
            await client.say(words, id=words.replace(" ", "-"))
        assert (await client.receive_error())["status"] == 429
        assert client.errors[0]["message_id"] == "too-much"
        await client.say("hi", agent_id="other")
        assert (await client.receive_error())["status"] == 429
        socket_server.parrots.let_go.set()
        await client.receive_messages(2)
        assert client.texts == ["helper: think", "helper: more"]


async def test_what_a_user_leaves_unanswered_behind_counts_on_the_next_socket() -> None:
    async with open_socket_server(unanswered=2) as socket_server:
        async with socket_server.connect_user() as client:
            await client.say("think")
            await client.say("more")
            await client.ack(99)
            await client.receive_error()  # By now, what came before was taken.
            client.drop()
        async with socket_server.connect_user() as back, socket_server.connect_user("bob") as bob:
            await back.say("too much")
            assert (await back.receive_error())["status"] == 429
            await bob.say("my own", agent_id="other")
            await bob.receive_messages(1)
            socket_server.parrots.let_go.set()
            await back.receive_messages(2)
            await back.say("now")
            await back.receive_messages(1)
            assert back.texts == ["helper: think", "helper: more", "helper: now"]


async def test_silent_clients_lock_out_nobody_who_says_hello() -> None:
    async with open_socket_server(waiting=3, hello_s=60) as socket_server, AsyncExitStack() as stack:
        silent = [await stack.enter_async_context(connect_raw(socket_server.address)) for _ in range(3)]
        async with socket_server.connect_user() as client:
            assert await silent[0].ended() == 1013
            await client.say("well?")
            await client.receive_messages(1)
        late = await stack.enter_async_context(connect_raw(socket_server.address))
        await stack.enter_async_context(connect_raw(socket_server.address))
        assert await silent[1].ended() == 1013
        await late.send({"type": "hello", "token": await socket_server.token()})
        assert (await late.receive())["type"] == "welcome"


def a_client(address: str, cut: list[str]) -> SocketConnection:
    async def nothing(*_: Any) -> Any: ...

    def close_now(code: int, reason: str, *, at_once: bool = False) -> None:
        assert (code, at_once, bool(reason)) == (1013, True, True)
        cut.append(address)

    scope = {"client": (address, 1), CLOSE_NOW: close_now}
    return SocketConnection(scope, nothing, nothing, slow_s=1)


def test_of_too_many_the_longest_waiting_of_the_largest_crowd_is_cut_off() -> None:
    clients, cut = WaitingClients(4), list[str]()
    with ExitStack() as stack:
        for address in ("ada", "mallory", "mallory", "mallory", "mallory", "bob"):
            stack.enter_context(clients.waiting(a_client(address, cut)))
        assert (len(clients), cut) == (4, ["mallory", "mallory"])
    assert len(clients) == 0


async def test_a_tenant_has_only_so_many_sockets() -> None:
    async with open_socket_server(per_tenant=2) as socket_server, socket_server.connect_user() as first:
        hello = {"type": "hello", "token": await socket_server.token("bob")}
        async with socket_server.connect_user():
            assert await refused_hello(socket_server, hello) == ("too-many-requests", 1013)
            key = await socket_server.key("south")
            await socket_server.store.users.put_user(User(id="eve", tenant_id="south"))
            async with connect_with_token(socket_server.address, key, user_id="eve"):
                first.drop()
                await socket_server.gone(2)
            async with socket_server.connect_user("bob"):
                pass


async def test_a_user_has_only_so_many_sockets() -> None:
    async with (
        open_socket_server(per_user=2) as socket_server,
        socket_server.connect_user(),
        socket_server.connect_user() as second,
    ):
        hello = {"type": "hello", "token": await socket_server.token()}
        assert await refused_hello(socket_server, hello) == ("too-many-requests", 1013)
        async with socket_server.connect_user("bob"):
            second.drop()
            await socket_server.gone(2)
        async with socket_server.connect_user():
            pass
