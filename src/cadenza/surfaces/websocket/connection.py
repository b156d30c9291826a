"""One WebSocket connection, and tasks that may outlive it."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from traceback import format_exception
from typing import Any, Protocol

from starlette.types import Receive, Scope, Send

CLOSE_NOW = "cadenza.close_now"
"""The key in the ASGI scope under which a server offers to close without waiting for the client."""


class CloseNow(Protocol):
    """Closes a connection without waiting for the client to read."""

    def __call__(self, code: int, reason: str, *, at_once: bool = False) -> None:
        """Close; `at_once` also without waiting for the client to close."""
        ...


class Disconnected(Exception):
    """The client has disconnected."""


class CloseSocket(Exception):
    """The connection is to be closed, with this code and reason."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


TRY_LATER, GOING_AWAY, UNEXPECTED, POLICY, NOT_ADMITTED = 1013, 1001, 1011, 1008, 4401
DELETED_KEY = (NOT_ADMITTED, "The key opens nothing any more.")


class SocketConnection:
    """A WebSocket after its handshake; sending waits for the client to read, up to a timeout."""

    __slots__ = ("_close_now", "_receive", "_send", "_slow_s", "address", "closed")

    def __init__(self, scope: Scope, receive: Receive, send: Send, *, slow_s: float) -> None:
        self._receive = receive
        self._send = send
        self._slow_s = slow_s
        self._close_now: CloseNow | None = scope.get(CLOSE_NOW)
        self.address: str = (scope.get("client") or ("",))[0]
        self.closed = False

    async def open(self) -> None:
        """Accept the handshake."""
        if (await self._receive())["type"] != "websocket.connect":
            raise Disconnected
        await self._pass({"type": "websocket.accept"})

    async def receive(self) -> str | bytes:
        """The next frame; Disconnected if the client has left."""
        message = await self._receive()
        if message["type"] != "websocket.receive":
            self.closed = True
            raise Disconnected
        text: str | None = message.get("text")
        raw: bytes = message.get("bytes") or b""
        return raw if text is None else text

    async def send(self, frame: str) -> None:
        """Send a frame; Disconnected if the client has left, CloseSocket if it does not read in time."""
        try:
            async with asyncio.timeout(self._slow_s):
                await self._pass({"type": "websocket.send", "text": frame})
        except TimeoutError:
            raise CloseSocket(TRY_LATER, "Too slow to read; reconnect for undelivered messages.") from None

    async def close(self, code: int, reason: str) -> None:
        """Close once; a client that does not read is not waited for."""
        if self.closed:
            return
        self.closed = True
        if self._close_now is not None:
            self._close_now(code, reason)
            return
        with suppress(Disconnected, TimeoutError):
            async with asyncio.timeout(self._slow_s):
                await self._pass({"type": "websocket.close", "code": code, "reason": reason})

    def cut_off(self, code: int, reason: str) -> None:
        """Close at once, where the server offers that; whoever receives finds it disconnected."""
        if not self.closed and self._close_now is not None:
            self.closed = True
            self._close_now(code, reason, at_once=True)

    async def _pass(self, message: dict[str, object]) -> None:
        try:
            await self._send(message)
        except (OSError, RuntimeError):  # Servers say either when a connection has just ended.
            self.closed = True
            raise Disconnected from None


Warn = Callable[..., None]


class BackgroundTasks:
    """Tasks that go on after their socket has closed, until they are done or the process ends."""

    def __init__(self, warn: Warn) -> None:
        self._warn = warn
        self._works: set[asyncio.Task[None]] = set()

    def keep(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Start a task, and keep a reference to it until it is done."""
        task = asyncio.create_task(work)
        self._works.add(task)
        task.add_done_callback(self._works.discard)
        return task

    def failed(self, problem: Exception) -> CloseSocket:
        """Log an unexpected error; the close code and reason for the socket that met it."""
        trace = "".join(format_exception(problem))
        self._warn("a socket failed unexpectedly", error=type(problem).__name__, trace=trace)
        return CloseSocket(UNEXPECTED, "Internal error. Reconnect; no messages are lost.")

    async def finish(self, within_s: float) -> None:
        """Wait up to a timeout for all tasks; cancel the rest."""
        if self._works:
            await asyncio.wait(self._works, timeout=within_s)
        for work in list(self._works):
            work.cancel()
        await asyncio.gather(*self._works, return_exceptions=True)
