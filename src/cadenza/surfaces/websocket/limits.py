"""Limits of sockets: frames, sizes, how many there are, and how long the server waits for a client."""

from asyncio import get_running_loop
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cadenza.surfaces.websocket.connection import TRY_LATER, SocketConnection

CROWDED_OUT = "Too many clients are connecting; come again in a moment."


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketLimits:
    """Limits that keep one client from using up what all share."""

    per_user: int = 10
    """Sockets of one user in each process."""
    per_tenant: int | None = None
    """Sockets of one tenant in each process, so that the others have connections left."""
    frames_per_s: int = 10
    frame_bytes: int = 65_536
    hello_s: float = 5.0
    """How long a client may take to send its hello."""
    slow_s: float = 10.0
    """How long a client may leave unread what it was sent."""
    grace_s: float = 10.0
    """How long agents may go on answering when the process shuts down."""
    waiting: int = 1_000
    """Clients that have connected and not yet sent a hello; beyond that, some of them are cut off."""
    unanswered: int = 16
    """Messages of one user that may wait for the agent's answer to the one before."""


class Pace:
    """A token bucket: so many frames a second, and twice as many at once after a pause."""

    __slots__ = ("_at", "_left", "_per_s", "refused")

    def __init__(self, per_s: int) -> None:
        self._per_s = per_s
        self._left = 2.0 * per_s
        self._at = get_running_loop().time()
        self.refused = 0
        """How many frames were refused in a row."""

    def allows_one(self) -> bool:
        """Take one token; False if there is none."""
        now = get_running_loop().time()
        self._left = min(2.0 * self._per_s, self._left + (now - self._at) * self._per_s)
        self._at = now
        if self._left < 1:
            self.refused += 1
            return False
        self._left -= 1
        self.refused = 0
        return True


class WaitingClients:
    """Clients that have not sent a hello yet, by address, those that wait for longest first.

    One more than the limit cuts off the one that waits for longest of the address with most of
    them: those who are silent lock out nobody who says hello.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._by_address: defaultdict[str, dict[SocketConnection, None]] = defaultdict(dict)

    def __len__(self) -> int:
        return sum(map(len, self._by_address.values()))

    @contextmanager
    def waiting(self, client: SocketConnection) -> Iterator[None]:
        """Count a client for the time of this context."""
        self._by_address[client.address][client] = None
        if len(self) > self._most:
            crowd = max(self._by_address.values(), key=len)
            first = next(iter(crowd))
            self._forget(first)
            first.cut_off(TRY_LATER, CROWDED_OUT)
        try:
            yield
        finally:
            self._forget(client)

    def _forget(self, client: SocketConnection) -> None:
        crowd = self._by_address[client.address]
        crowd.pop(client, None)
        if not crowd:
            del self._by_address[client.address]
