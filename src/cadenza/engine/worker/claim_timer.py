"""When the next claim makes sense."""

from datetime import datetime

from cadenza.domain.validation import milliseconds
from cadenza.ports.clock import Clock

GATHERED = 20
"""What is claimed ahead is gathered for this part of the time that it is claimed ahead."""


class Pace:
    """Knows the soonest moment at which something comes due that is not claimed yet."""

    def __init__(self, clock: Clock, *, within_ms: float, linger_ms: float) -> None:
        self._clock = clock
        self._within = milliseconds(1) * within_ms
        self._linger = milliseconds(1) * linger_ms
        self._claimed_at = clock.now()
        self._due: datetime | None = None

    def claiming(self) -> None:
        """All that is known is being claimed."""
        self._claimed_at, self._due = self._clock.now(), None

    def learn(self, due: datetime | None) -> None:
        """Something comes due then, and is not claimed."""
        if due is not None and (self._due is None or due < self._due):
            self._due = due

    def left_by_a_claim(self, due: datetime | None) -> None:
        """It comes due then, and a claim left it: if it need not have, somebody else is just claiming it."""
        now = self._clock.now()
        taken = due is not None and due - self._within <= now
        self.learn(now + self._linger + self._within if taken else due)

    @property
    def has_come(self) -> bool:
        """Is it time for the next claim?"""
        return (moment := self.next_claim) is not None and moment <= self._clock.now()

    @property
    def next_claim(self) -> datetime | None:
        """From when on something can be claimed; what is ahead of its moment can wait, and is gathered."""
        if self._due is None:
            return None
        gathered = min(self._due, self._claimed_at + self._within / GATHERED)
        return max(self._due - self._within, gathered)
