"""A WebSocket client as somebody would write one who has read the reference, and nothing else."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

TIMEOUT_S = 20.0
MESSAGES = ("subtitle", "canvas_command")

Frame = dict[str, Any]


class SocketClient:
    """One socket of a user, and everything that it was sent."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self.welcome: Frame = {}
        self.notification: Frame | None = None
        self.inbox: list[Frame] = []
        """Messages in the order in which they came."""
        self.errors: list[Frame] = []

    async def send(self, frame: Any) -> None:
        await self._connection.send(frame if isinstance(frame, str | bytes) else json.dumps(frame))

    async def say(self, text: str, agent_id: str = "helper", **more: Any) -> None:
        await self.send({"type": "message", "agent_id": agent_id, "text": text, **more})

    async def ack(self, seq: int | None = None) -> None:
        """Acknowledge up to a number, or everything that came."""
        await self.send({"type": "ack", "seq": self.last_seq if seq is None else seq})

    @property
    def last_seq(self) -> int:
        return max((int(frame["seq"]) for frame in self.inbox), default=0)

    @property
    def texts(self) -> list[str]:
        return [str(frame["text"]) for frame in self.inbox if frame["type"] == "subtitle"]

    async def receive(self, within_s: float = TIMEOUT_S) -> Frame:
        """The next frame, put where it belongs."""
        async with asyncio.timeout(within_s):
            frame: Frame = json.loads(await self._connection.recv())
        if frame["type"] in MESSAGES:
            self.inbox.append(frame)
        elif frame["type"] == "notification":
            self.notification = frame
        elif frame["type"] == "error":
            self.errors.append(frame)
        return frame

    async def receive_messages(self, count: int) -> list[Frame]:
        """Listen until so many more messages came."""
        wanted = len(self.inbox) + count
        while len(self.inbox) < wanted:
            await self.receive()
        return self.inbox[wanted - count :]

    async def receive_error(self) -> Frame:
        """Listen until something is wrong; the problem."""
        before = len(self.errors)
        while len(self.errors) == before:
            await self.receive()
        problem: Frame = self.errors[-1]["problem"]
        return problem

    async def expect_silence(self, span_s: float = 0.2) -> None:
        """Nothing more comes."""
        try:
            frame = await self.receive(span_s)
        except TimeoutError:
            return
        raise AssertionError(f"somebody spoke: {frame}")

    async def ended(self) -> int:
        """Listen to the end; the code it was closed with."""
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                try:
                    await self.receive()
                except ConnectionClosed as closed:
                    return 1006 if closed.rcvd is None else int(closed.rcvd.code)

    def drop(self) -> None:
        """Vanish as a telephone does in a tunnel."""
        self._connection.transport.abort()


@asynccontextmanager
async def connect_raw(address: str) -> AsyncIterator[SocketClient]:
    """A connection that has not said hello yet."""
    url = address.replace("http", "ws", 1) + "/v1/ws"
    async with connect(url, max_size=None, max_queue=None, ping_interval=None, proxy=None) as connection:
        yield SocketClient(connection)


@asynccontextmanager
async def connect_with_token(address: str, token: str, **hello: Any) -> AsyncIterator[SocketClient]:
    """A connection that was welcomed; it acknowledges unless it says otherwise."""
    async with connect_raw(address) as client:
        await client.send({"type": "hello", "token": token, "acks": True, **hello})
        client.welcome = await client.receive()
        assert client.welcome["type"] == "welcome", client.welcome
        yield client
