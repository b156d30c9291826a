"""One connection: frames in, frames out, and an end."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from starlette.types import Receive, Scope, Send

HANG_UP = "cadenza.hang_up"
"""Under this name, a server that can close without waiting for the client to read says how."""

HangUp = Callable[[int, str], None]


class Gone(Exception):
    """There is nobody at the other end any more."""


class Closing(Exception):
    """The connection is to be closed, and why."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


TRY_LATER, GOING_AWAY, UNEXPECTED, POLICY, NOT_ADMITTED = 1013, 1001, 1011, 1008, 4401


class Line:
    """A socket after its handshake. Whoever speaks into it waits for the client to read, but not for long."""

    __slots__ = ("_hang_up", "_receive", "_send", "_slow_s", "address", "closed")

    def __init__(self, scope: Scope, receive: Receive, send: Send, *, slow_s: float) -> None:
        self._receive = receive
        self._send = send
        self._slow_s = slow_s
        self._hang_up: HangUp | None = scope.get(HANG_UP)
        self.address: str = (scope.get("client") or ("",))[0]
        self.closed = False

    async def open(self) -> None:
        """Take the call."""
        if (await self._receive())["type"] != "websocket.connect":
            raise Gone
        await self._pass({"type": "websocket.accept"})

    async def hear(self) -> str | bytes:
        """The next frame; Gone if there is none."""
        message = await self._receive()
        if message["type"] != "websocket.receive":
            self.closed = True
            raise Gone
        text: str | None = message.get("text")
        raw: bytes = message.get("bytes") or b""
        return raw if text is None else text

    async def tell(self, frame: str) -> None:
        """Send a frame; Gone if nobody is there, Closing if the client does not read what it is sent."""
        try:
            async with asyncio.timeout(self._slow_s):
                await self._pass({"type": "websocket.send", "text": frame})
        except TimeoutError:
            raise Closing(TRY_LATER, "You read too slowly; what you missed waits for you.") from None

    async def close(self, code: int, reason: str) -> None:
        """End it, once; a client that does not read is not waited for."""
        if self.closed:
            return
        self.closed = True
        if self._hang_up is not None:
            self._hang_up(code, reason)
            return
        with suppress(Gone, TimeoutError):
            async with asyncio.timeout(self._slow_s):
                await self._pass({"type": "websocket.close", "code": code, "reason": reason})

    async def _pass(self, message: dict[str, object]) -> None:
        try:
            await self._send(message)
        except (OSError, RuntimeError):  # Servers say either when a connection has just ended.
            self.closed = True
            raise Gone from None
