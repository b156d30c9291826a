"""The server's side of a connection, which can end it without waiting for the client to read."""

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import InvalidState
from websockets.http11 import Request

from cadenza.surfaces.websocket.connection import GOING_AWAY, HANG_UP

LAST_WORDS_S = 5.0
"""So long a client may take to read what it was sent before the end."""


class SocketProtocol(WebSocketsSansIOProtocol):
    """Ends on time, whoever is at the other end."""

    def handle_connect(self, event: Request) -> None:
        """Tell the application how to hang up."""
        super().handle_connect(event)
        if not self.close_sent:
            self.scope[HANG_UP] = self.hang_up  # type: ignore[literal-required]

    def hang_up(self, code: int, reason: str) -> None:
        """Say goodbye, and let the application know; a client that does not read it is cut off."""
        if self.close_sent or self.transport.is_closing():
            return
        try:
            self.conn.send_close(code, reason)
        except InvalidState:  # The client was quicker.
            return
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
        self.close_timer = self.loop.call_later(LAST_WORDS_S, self.transport.abort)

    def keepalive_timeout(self) -> None:
        """Nobody answers: what they have not read will not be read."""
        super().keepalive_timeout()
        self.transport.abort()

    def shutdown(self) -> None:
        """Say that the server is about to end."""
        if not self.handshake_complete or self.close_sent:
            super().shutdown()
            return
        self.stop_keepalive()
        self.hang_up(GOING_AWAY, "This server is about to end; come again.")
