"""The WebSocket protocol of the server: it can close a connection without waiting for the client to read."""

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import InvalidState
from websockets.http11 import Request

from cadenza.surfaces.websocket.connection import CLOSE_NOW, GOING_AWAY

CLOSE_TIMEOUT_S = 5.0
"""How long a client has to read what was sent before the connection is cut off."""


class SocketProtocol(WebSocketsSansIOProtocol):
    """Closes on time, also when the client does not read."""

    def handle_connect(self, event: Request) -> None:
        """Give the application a way to close without waiting."""
        super().handle_connect(event)
        if not self.close_sent:
            self.scope[CLOSE_NOW] = self.close_now  # type: ignore[literal-required]

    def close_now(self, code: int, reason: str, *, at_once: bool = False) -> None:
        """Send a close frame and tell the application; a client that does not read it is cut off."""
        if self.close_sent or self.transport.is_closing():
            return
        try:
            self.conn.send_close(code, reason)
        except InvalidState:  # The client was quicker.
            return
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        if at_once:
            self.transport.close()
            return
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
        self.close_timer = self.loop.call_later(CLOSE_TIMEOUT_S, self.transport.abort)

    def keepalive_timeout(self) -> None:
        """The client does not answer pings: drop what it has not read."""
        super().keepalive_timeout()
        self.transport.abort()

    def shutdown(self) -> None:
        """Close with the reason that the server shuts down."""
        if not self.handshake_complete or self.close_sent:
            super().shutdown()
            return
        self.stop_keepalive()
        self.close_now(GOING_AWAY, "This server is about to end; come again.")
