"""Talk to an agent: echo "list my reminders" | python chat.py ws://127.0.0.1:8700/v1/ws TOKEN AGENT.

Each line is a message. Undelivered messages are shown first.
"""

import asyncio
import json
import sys
from typing import Any
from uuid import uuid4

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

NOT_ADMITTED = 4401


class Chat:
    """Keeps the number of the last message shown, so that none is shown twice and none is missed."""

    def __init__(self, url: str, token: str, agent_id: str) -> None:
        self._url = url
        self._token = token
        self._agent_id = agent_id
        self._shown = 0

    async def talk(self, lines: list[str]) -> None:
        """Send each line when the one before is answered; connect again when the connection is lost."""
        left = [(line, str(uuid4())) for line in lines]
        async for socket in connect(self._url):
            try:
                newest = await self._hello(socket)
                while left:
                    await self._send(socket, *left[0], newest=newest)
                    left.pop(0)
            except ConnectionClosed as closed:
                if closed.rcvd is not None and closed.rcvd.code == NOT_ADMITTED:
                    raise
            else:
                await socket.close()
                return

    async def _hello(self, socket: ClientConnection) -> int:
        """Send the token and the number of the last message shown; the number of the newest message."""
        hello: dict[str, Any] = {"type": "hello", "token": self._token, "acks": True}
        if self._shown:
            hello["last_seq"] = self._shown
        await socket.send(json.dumps(hello))
        welcome = await self._receive(socket)
        return int(welcome.get("last_seq", 0))

    async def _send(self, socket: ClientConnection, text: str, key: str, *, newest: int) -> None:
        """Send a message and receive until it is answered; sent again with the same key, it counts once."""
        message = {"type": "message", "agent_id": self._agent_id, "text": text, "idempotency_key": key}
        await socket.send(json.dumps(message))
        frame = await self._receive(socket)
        while frame["type"] not in ("answered", "error"):
            frame = await self._receive(socket)
        last = frame.get("seq") or 0
        while newest < last and self._shown < last:
            await self._receive(socket)

    async def _receive(self, socket: ClientConnection) -> dict[str, Any]:
        """Show a frame; what was shown is acknowledged."""
        frame: dict[str, Any] = json.loads(await socket.recv())
        if frame["type"] == "error":
            print("!", frame["problem"]["detail"])
        elif frame["type"] == "notification":
            print("*", frame["text"])
        elif "agent_id" in frame:
            print(frame.get("text") or frame["command"])
            self._shown = frame["seq"]
            await socket.send(json.dumps({"type": "ack", "seq": self._shown}))
        return frame


if __name__ == "__main__":
    asyncio.run(Chat(*sys.argv[1:4]).talk([line.strip() for line in sys.stdin if line.strip()]))
