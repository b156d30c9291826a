"""Sockets under strain: clients that do not read, do not answer, or vanish; nothing is lost by it."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest
from tests.surfaces.websocket.socket_client import Frame, SocketClient
from tests.surfaces.websocket.socket_server import SocketServer, open_socket_server
from websockets.client import ClientProtocol
from websockets.uri import parse_uri

SOAK = bool(os.environ.get("CADENZA_SOAK"))
A_LOT = "x" * 100_000


@asynccontextmanager
async def mute(socket_server: SocketServer, user_id: str = "ada") -> AsyncIterator[asyncio.StreamReader]:
    """A client that says hello, and from then on neither reads nor answers pings."""
    address = socket_server.address.removeprefix("http://")
    host, port = address.split(":")
    plug = socket.socket()
    plug.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    plug.setblocking(False)  # noqa: FBT003 - A method of the standard library.
    await asyncio.get_running_loop().sock_connect(plug, (host, int(port)))
    reader, writer = await asyncio.open_connection(sock=plug, limit=1_024)
    words = ClientProtocol(parse_uri(f"ws://{address}/v1/ws"))
    words.send_request(words.connect())
    writer.writelines(words.data_to_send())
    await reader.readuntil(b"\r\n\r\n")
    words.receive_data(b"")
    words.state = words.state.OPEN
    words.send_text(
        f'{{"type": "hello", "acks": true, "token": "{await socket_server.token(user_id)}"}}'.encode()
    )
    writer.writelines(words.data_to_send())
    try:
        yield reader
    finally:
        writer.transport.abort()


async def code_in(reader: asyncio.StreamReader) -> int:
    """Read on to the close frame, whose first byte stands in no other frame; its code."""
    sent = b""
    while b"\x88" not in sent[:-3]:
        sent = sent[-4:] + await reader.read(1 << 20)
    close = sent.index(b"\x88")
    return int.from_bytes(sent[close + 2 : close + 4])


async def test_a_client_that_does_not_read_is_sent_away_and_finds_everything_on_return() -> None:
    async with (
        open_socket_server(slow_s=0.3) as socket_server,
        socket_server.connect_user("bob") as bob,
        mute(socket_server) as slow,
    ):
        await socket_server.gone(2)
        for _ in range(100):
            await socket_server.fire(A_LOT)
        await bob.say("meanwhile")
        await bob.receive_messages(1)
        await socket_server.gone(1)
        assert await code_in(slow) == 1013
        async with socket_server.connect_user() as back:
            await back.receive_messages(100)
            assert [frame["seq"] for frame in back.inbox] == list(range(1, 101))


async def test_a_client_that_does_not_answer_a_ping_is_taken_for_dead() -> None:
    async with (
        open_socket_server(ping_ms=150) as socket_server,
        socket_server.connect_user() as lively,
        mute(socket_server),
    ):
        await socket_server.gone(2)
        await socket_server.gone(1)
        await socket_server.fire("a")
        await lively.receive_messages(1)


async def test_a_client_that_is_dead_and_full_is_taken_for_dead_too() -> None:
    async with open_socket_server(ping_ms=300, slow_s=60) as socket_server, mute(socket_server):
        for _ in range(100):
            await socket_server.fire(A_LOT)
        await socket_server.gone(1)
        await socket_server.gone(0)
        assert len(await socket_server.undelivered()) == 100


class Memory:
    """What one user's program remembers: what it has seen, and what it acknowledged."""

    def __init__(self) -> None:
        self.seen: dict[int, Frame] = {}
        self.acked = 0

    def take(self, frames: list[Frame], after: int) -> None:
        """Take what one connection sent: in order, nothing left out, nothing that was acknowledged."""
        seqs = [int(frame["seq"]) for frame in frames]
        assert seqs == list(range(after + 1, after + 1 + len(seqs)))
        for frame in frames:
            assert self.seen.setdefault(frame["seq"], frame) == frame, "it comes again with the same id"


async def stay(socket_server: SocketServer, chance: Random, memory: Memory, *, resumes: bool) -> None:
    """Connect, hear some of what is owed while more fires, acknowledge some of it, and vanish."""
    hello: dict[str, Any] = {"last_seq": memory.acked} if resumes and memory.acked else {}
    async with socket_server.connect_user(**hello) as client:
        for _ in range(chance.randrange(4)):
            await act(socket_server, chance, client)
        if client.inbox and chance.random() < 0.7:
            upto = chance.choice(client.inbox)["seq"]
            await client.ack(upto)
            memory.acked = max(memory.acked, upto)
            await acknowledged(socket_server, upto)
        if chance.random() < 0.5:
            client.drop()
    memory.take(client.inbox, client.inbox[0]["seq"] - 1 if client.inbox else 0)


async def act(socket_server: SocketServer, chance: Random, client: SocketClient) -> None:
    match chance.randrange(3):
        case 0:
            await socket_server.fire(*["x"] * chance.randint(1, 3))
        case 1:
            await client.say("hi")
        case _:
            if (
                await socket_server.undelivered()
                and client.last_seq < (await socket_server.undelivered())[-1]
            ):
                await client.receive_messages(1)


async def acknowledged(socket_server: SocketServer, upto: int) -> None:
    async with asyncio.timeout(60):
        while (await socket_server.undelivered() or [upto + 1])[0] <= upto:  # noqa: ASYNC110 - It is a store that changes.
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("seed", range(200 if SOAK else 3))
async def test_whatever_happens_everything_comes_in_order_and_nothing_after_it_was_acknowledged(
    seed: int,
) -> None:
    chance, memory = Random(seed), Memory()
    async with open_socket_server(frames_per_s=1_000) as socket_server:
        for _ in range(15):
            before = memory.acked
            await stay(socket_server, chance, memory, resumes=chance.random() < 0.5)
            first = min((seq for seq in memory.seen if seq > before), default=before + 1)
            assert first == before + 1, "what is owed comes first"
        owed = await socket_server.undelivered()
        async with socket_server.connect_user() as last:
            heard = await last.receive_messages(len(owed))
            await last.expect_silence(0.1)
        memory.take(heard, memory.acked)
        assert [frame["seq"] for frame in heard] == owed
        assert sorted(memory.seen) == list(range(1, len(memory.seen) + 1))
