"""Leases what is due, and knows when the next claim makes sense."""

from datetime import datetime

from cadenza.domain.scheduling.run import Claim
from cadenza.domain.validation import milliseconds
from cadenza.ports.clock import Clock
from cadenza.ports.dispatcher import CanRun
from cadenza.ports.scheduling import EndpointStore

GATHERING_PARTS = 20
"""Claims ahead of their moment are gathered for this part of the time that they are claimed ahead."""


class Claimer:
    """Leases endpoints that are due, or will be within the time that is claimed ahead."""

    def __init__(
        self, *, store: EndpointStore, can_run: CanRun, clock: Clock, ahead_ms: int, lease_ms: int
    ) -> None:
        self._store = store
        self._can_run = can_run
        self._clock = clock
        self._ahead = milliseconds(ahead_ms)
        self._lease = milliseconds(lease_ms)

    async def claim(self, limit: int) -> list[Claim]:
        """Lease at most so many, the soonest first."""
        now = self._clock.now()
        return await self._store.claim_due(
            now=now,
            within=self._ahead,
            lease_until=now + self._lease,
            limit=limit,
            can_run=self._can_run(),
        )

    async def next_due(self) -> datetime | None:
        """The earliest moment at which there is something to claim."""
        return await self._store.next_due(self._can_run())


class ClaimTimer:
    """Knows the soonest moment at which something comes due that is not claimed yet."""

    def __init__(self, clock: Clock, *, ahead_ms: float, linger_ms: float) -> None:
        self._clock = clock
        self._ahead = milliseconds(1) * ahead_ms
        self._linger = milliseconds(1) * linger_ms
        self._claimed_at = clock.now()
        self._due: datetime | None = None

    def reset(self) -> None:
        """A claim begins, and takes all that was noted."""
        self._claimed_at, self._due = self._clock.now(), None

    def note(self, due: datetime | None) -> None:
        """Something comes due then, and is not claimed."""
        if due is not None and (self._due is None or due < self._due):
            self._due = due

    def note_after_claim(self, due: datetime | None) -> None:
        """A claim that was not full left what comes due then.

        If it could have been claimed, another worker is just claiming it, and the
        next claim waits a moment.
        """
        now = self._clock.now()
        taken = due is not None and due - self._ahead <= now
        self.note(now + self._linger + self._ahead if taken else due)

    @property
    def is_due(self) -> bool:
        """Is it time for the next claim?"""
        return (moment := self.next_claim) is not None and moment <= self._clock.now()

    @property
    def next_claim(self) -> datetime | None:
        """From when on something can be claimed; what is ahead of its moment can wait, and is gathered."""
        if self._due is None:
            return None
        gathered = min(self._due, self._claimed_at + self._ahead / GATHERING_PARTS)
        return max(self._due - self._ahead, gathered)
