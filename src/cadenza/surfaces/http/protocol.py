"""The HTTP protocol of the server, with limits on slow, large and many connections."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

TOO_SLOW = b"408 Request Timeout"
HEAD_TOO_LARGE = b"431 Request Header Fields Too Large"
TOO_MANY_CONNECTIONS = b"503 Service Unavailable"


class ConnectionLimits(NamedTuple):
    """How long clients may take, and how many may be connected."""

    connections: int
    """How many may be open, sockets included; beyond that the one that is idle for longest is closed."""
    head_s: float = 10.0
    """How long the head of a request may take, from the first byte or from the connection on."""
    body_s: float = 30.0
    read_s: float = 30.0
    """How long a client may take to read what was sent before more is sent."""
    head_bytes: int = 65_536


@dataclass(slots=True)
class OpenConnections:
    """The limits of a server, and its connections without a request, the longest idle first."""

    limits: ConnectionLimits
    idle: "dict[HttpProtocol, None]" = field(default_factory=dict)


class HttpProtocol(HttpToolsProtocol):
    """Closes connections that are too slow, send too large a head, or are too many."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        shared: OpenConnections,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = shared.limits
        self._idle = shared.idle
        self._head_bytes = 0
        self._deadline: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request; with too many connections, close the one that has been idle for longest."""
        super().connection_made(transport)
        if len(self.connections) > self._limits.connections:
            if not self._idle:
                self._refuse(TOO_MANY_CONNECTIONS)
                return
            next(iter(self._idle)).transport.close()
        self._idle[self] = None
        self._expect(self._limits.head_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._idle.pop(self, None)
        self._expect(None)
        self.resume_writing()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Begin to read a request."""
        super().on_message_begin()
        self._head_bytes = 0
        self._expect(self._limits.head_s)

    def on_url(self, url: bytes) -> None:
        """Read a part of the address."""
        if self._counted(url):
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Read a header."""
        if self._counted(name, value):
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin to answer; the body may still come."""
        if self.transport.is_closing():
            return
        self._idle.pop(self, None)
        self._expect(self._limits.body_s)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The whole request is read."""
        self._expect(None)
        if not self.transport.is_closing():
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        if not self.transport.is_closing():
            self._idle[self] = None

    def handle_websocket_upgrade(self) -> None:
        """Leave the connection to the socket's own limits."""
        self._idle.pop(self, None)
        self._expect(None)
        super().handle_websocket_upgrade()

    def pause_writing(self) -> None:
        """Wait a while for the client to read."""
        super().pause_writing()
        self._reading = self.loop.call_later(self._limits.read_s, self.transport.abort)

    def resume_writing(self) -> None:
        """The client has read."""
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        if self.flow is not None:
            super().resume_writing()

    def _counted(self, *parts: bytes) -> bool:
        """Whether a part of the head is still within the limit; if not, the request is refused."""
        self._head_bytes += sum(map(len, parts))
        if self._head_bytes > self._limits.head_bytes and not self.transport.is_closing():
            self._refuse(HEAD_TOO_LARGE)
        return not self.transport.is_closing()

    def _expect(self, within_s: float | None) -> None:
        """Give the client so long for the next part of its request; None if nothing more is awaited."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if within_s is None else self.loop.call_later(within_s, self._too_slow)

    def _too_slow(self) -> None:
        answering: RequestResponseCycle | None = self.cycle
        if answering is not None and answering.response_started and not answering.response_complete:
            self.transport.abort()
        else:
            self._refuse(TOO_SLOW)

    def _refuse(self, status: bytes) -> None:
        """Answer with a bare status, and close."""
        self.transport.write(b"HTTP/1.1 " + status + b"\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        self.transport.close()
