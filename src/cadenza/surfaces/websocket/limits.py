"""Limits of one socket: frames, sizes, and how long the server waits for a client."""

from dataclasses import dataclass
from time import monotonic


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketLimits:
    """Limits that keep one client from using up what all share."""

    per_user: int = 10
    """Sockets of one user in each process."""
    frames_per_s: int = 10
    frame_bytes: int = 65_536
    hello_s: float = 5.0
    """How long a client may take to send its hello."""
    slow_s: float = 10.0
    """How long a client may leave unread what it was sent."""
    grace_s: float = 10.0
    """How long agents may go on answering when the process shuts down."""
    waiting: int = 1_000
    """Clients that have connected and not yet sent a hello."""
    unanswered: int = 16
    """Messages of one user that may wait for the agent's answer to the one before."""


class Pace:
    """A token bucket: so many frames a second, and twice as many at once after a pause."""

    __slots__ = ("_at", "_left", "_per_s", "refused")

    def __init__(self, per_s: int) -> None:
        self._per_s = per_s
        self._left = 2.0 * per_s
        self._at = monotonic()
        self.refused = 0
        """How many frames were refused in a row."""

    def allows_one(self) -> bool:
        """Take one token; False if there is none."""
        now = monotonic()
        self._left = min(2.0 * self._per_s, self._left + (now - self._at) * self._per_s)
        self._at = now
        if self._left < 1:
            self.refused += 1
            return False
        self._left -= 1
        self.refused = 0
        return True
