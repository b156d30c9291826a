"""How much one socket may ask of its server."""

from dataclasses import dataclass
from time import monotonic


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketLimits:
    """What keeps one client from taking the place of all others."""

    per_user: int = 10
    """So many sockets may one user have, in each process."""
    frames_per_s: int = 10
    frame_bytes: int = 65_536
    hello_s: float = 5.0
    """So long a client may take to say who it is."""
    slow_s: float = 10.0
    """So long a client may leave unread what it was sent."""
    grace_s: float = 10.0
    """So long agents may go on answering when the process wants to end."""
    waiting: int = 1_000
    """So many clients may be about to say who they are."""
    said: int = 16
    """So many messages of one user may wait for an agent to answer the one before."""


class Pace:
    """Lets through so many frames a second, and twice as many at once after a silence."""

    __slots__ = ("_at", "_left", "_per_s", "refused")

    def __init__(self, per_s: int) -> None:
        self._per_s = per_s
        self._left = 2.0 * per_s
        self._at = monotonic()
        self.refused = 0
        """How many were refused since the last that was not."""

    def take(self) -> bool:
        """May one more pass?"""
        now = monotonic()
        self._left = min(2.0 * self._per_s, self._left + (now - self._at) * self._per_s)
        self._at = now
        if self._left < 1:
            self.refused += 1
            return False
        self._left -= 1
        self.refused = 0
        return True
