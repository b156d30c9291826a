"""Sockets under strain: clients that do not read, do not answer, or vanish; nothing is lost by it."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest
from tests.surfaces.websocket.socket_client import Frame, Talker
from tests.surfaces.websocket.socket_server import Salon, open_salon
from websockets.client import ClientProtocol
from websockets.uri import parse_uri

SOAK = bool(os.environ.get("CADENZA_SOAK"))
A_LOT = "x" * 100_000


@asynccontextmanager
async def mute(salon: Salon, user_id: str = "ada") -> AsyncIterator[asyncio.StreamReader]:
    """A client that says hello, and from then on neither reads nor answers pings."""
    address = salon.address.removeprefix("http://")
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
    words.send_text(f'{{"type": "hello", "acks": true, "token": "{await salon.token(user_id)}"}}'.encode())
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
    async with open_salon(slow_s=0.3) as salon, salon.visitor("bob") as bob, mute(salon) as slow:
        await salon.gone(2)
        for _ in range(100):
            await salon.fire(A_LOT)
        await bob.say("meanwhile")
        await bob.hear_messages(1)
        await salon.gone(1)
        assert await code_in(slow) == 1013
        async with salon.visitor() as back:
            await back.hear_messages(100)
            assert [frame["seq"] for frame in back.inbox] == list(range(1, 101))


async def test_a_client_that_does_not_answer_a_ping_is_taken_for_dead() -> None:
    async with open_salon(ping_ms=150) as salon, salon.visitor() as lively, mute(salon):
        await salon.gone(2)
        await salon.gone(1)
        await salon.fire("a")
        await lively.hear_messages(1)


async def test_a_client_that_is_dead_and_full_is_taken_for_dead_too() -> None:
    async with open_salon(ping_ms=300, slow_s=60) as salon, mute(salon):
        for _ in range(100):
            await salon.fire(A_LOT)
        await salon.gone(1)
        await salon.gone(0)
        assert len(await salon.undelivered()) == 100


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


async def stay(salon: Salon, chance: Random, memory: Memory, *, resumes: bool) -> None:
    """Connect, hear some of what is owed while more fires, acknowledge some of it, and vanish."""
    hello: dict[str, Any] = {"last_seq": memory.acked} if resumes and memory.acked else {}
    async with salon.visitor(**hello) as talker:
        for _ in range(chance.randrange(4)):
            await act(salon, chance, talker)
        if talker.inbox and chance.random() < 0.7:
            upto = chance.choice(talker.inbox)["seq"]
            await talker.ack(upto)
            memory.acked = max(memory.acked, upto)
            await acknowledged(salon, upto)
        if chance.random() < 0.5:
            talker.drop()
    memory.take(talker.inbox, talker.inbox[0]["seq"] - 1 if talker.inbox else 0)


async def act(salon: Salon, chance: Random, talker: Talker) -> None:
    match chance.randrange(3):
        case 0:
            await salon.fire(*["x"] * chance.randint(1, 3))
        case 1:
            await talker.say("hi")
        case _:
            if await salon.undelivered() and talker.last_seq < (await salon.undelivered())[-1]:
                await talker.hear_messages(1)


async def acknowledged(salon: Salon, upto: int) -> None:
    async with asyncio.timeout(60):
        while (await salon.undelivered() or [upto + 1])[0] <= upto:  # noqa: ASYNC110 - It is a store that changes.
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("seed", range(200 if SOAK else 3))
async def test_whatever_happens_everything_comes_in_order_and_nothing_after_it_was_acknowledged(
    seed: int,
) -> None:
    chance, memory = Random(seed), Memory()
    async with open_salon(frames_per_s=1_000) as salon:
        for _ in range(15):
            before = memory.acked
            await stay(salon, chance, memory, resumes=chance.random() < 0.5)
            first = min((seq for seq in memory.seen if seq > before), default=before + 1)
            assert first == before + 1, "what is owed comes first"
        owed = await salon.undelivered()
        async with salon.visitor() as last:
            heard = await last.hear_messages(len(owed))
            await last.silence(0.1)
        memory.take(heard, memory.acked)
        assert [frame["seq"] for frame in heard] == owed
        assert sorted(memory.seen) == list(range(1, len(memory.seen) + 1))
