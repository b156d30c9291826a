"""Leases what is due, and knows when the next claim makes sense."""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from cadenza.domain.access.places import ClaimShares
from cadenza.domain.scheduling.abandon import Trial, limited_requirements, tried_requirements
from cadenza.domain.scheduling.due import AT_ONCE
from cadenza.domain.scheduling.run import Claim
from cadenza.domain.validation import milliseconds
from cadenza.engine.worker.clock_check import LeaseClock
from cadenza.engine.worker.held_claims import counted_from
from cadenza.engine.worker.places import WorkerPlaces
from cadenza.ports.clock import Clock
from cadenza.ports.dispatcher import CanRun
from cadenza.ports.scheduling import EndpointStore

GATHERING_PARTS = 20
"""Claims ahead of their moment are gathered for this part of the time that they are claimed ahead."""


class Claimer:
    """Leases endpoints that are due, or will be within the time that is claimed ahead."""

    def __init__(
        self,
        *,
        store: EndpointStore,
        places: WorkerPlaces,
        can_run: CanRun,
        clock: Clock,
        ahead_ms: int,
        lease_ms: int,
        lease_clock: LeaseClock | None = None,
    ) -> None:
        self._store = store
        self._places = places
        self._can_run = can_run
        self._clock = clock
        self._lease_clock = lease_clock or LeaseClock(clock.now)
        self._ahead = milliseconds(ahead_ms)
        self._lease = milliseconds(lease_ms)
        self._holder: str | None = None
        """Stands for this worker: the token of its first claim."""

    async def claim(self, limits: ClaimShares, part_ahead: float = 1) -> list[Claim]:
        """Lease what is due, or will be within this part of the time that is claimed ahead; soonest first."""
        return await self._claim(limits, self._ahead * part_ahead, self._can_run())

    async def claim_suspects(self, limit: int, *trials: Trial) -> list[Claim]:
        """Lease suspects that are due and tried in one of these ways, at most so many."""
        bounds = dict.fromkeys(self._places.full_tenants(for_suspects=True), 0)
        return await self._claim(ClaimShares(limit, bounds), AT_ONCE, self._tried(trials))

    async def any_suspect_due(self, *trials: Trial) -> bool:
        """Is there a suspect to claim that is tried in one of these ways?"""
        required, full = self._tried(trials), self._places.full_tenants(for_suspects=True)
        due = await self._store.next_due(required, without=full) if required else None
        return due is not None and due <= self._clock.now()

    def shares_of(self, free: int) -> ClaimShares:
        """How much may be claimed for so many free places."""
        return self._places.shares_of(free)

    async def claim_in_order(self, limits: ClaimShares) -> list[Claim]:
        """Lease what is due under limits or with a priority."""
        return await self._claim(limits, AT_ONCE, limited_requirements(self._can_run() or ()))

    async def next_in_order(self) -> datetime | None:
        """When something under limits or with a priority is due; None for a worker that claims everything."""
        required = limited_requirements(self._can_run() or ())
        full = self._places.full_tenants() if required else ()
        return await self._store.next_due(required, without=full) if required else None

    async def claim_all(self, limit: int) -> list[Claim]:
        """Lease whatever is due, under limits or not."""
        can_run = self._can_run()
        if can_run is not None:
            can_run = [*can_run, *limited_requirements(can_run)]
        return await self._claim(ClaimShares(limit), self._ahead, can_run)

    def _tried(self, trials: Iterable[Trial]) -> list[str]:
        """The requirements of suspects; none for a worker that claims everything, and suspects with it."""
        required = list(self._can_run() or ())
        return tried_requirements([*required, *limited_requirements(required)], *trials)

    async def _claim(
        self, limits: ClaimShares, within: timedelta, can_run: Collection[str] | None
    ) -> list[Claim]:
        gain = self._lease_clock.gain()
        claims = await self._store.claim_due(
            now=self._clock.now(),
            within=within,
            lease_until=self._lease_clock.now() + self._lease,
            limit=limits.limit,
            bounds=limits.bounds,
            can_run=can_run,
            holder=self._holder,
        )
        if claims and self._holder is None:
            self._holder = claims[0].token
        step = self._lease_clock.set_back_since(gain)
        return [counted_from(claim, step) for claim in claims] if step else claims

    async def next_due(self) -> datetime | None:
        """The earliest moment at which there is something to claim of tenants that may have another place."""
        self._places.waiting = full = self._places.full_tenants()
        return await self._store.next_due(self._can_run(), without=full)


class ClaimTimer:
    """Knows the soonest moment at which something comes due that is not claimed yet."""

    def __init__(self, clock: Clock, *, ahead_ms: float, linger_ms: float) -> None:
        self._clock = clock
        self._most_ahead = self._ahead = milliseconds(1) * ahead_ms
        self._linger = milliseconds(1) * linger_ms
        self._claimed_at = clock.now()
        self._due: datetime | None = None

    def reset(self, part_ahead: float = 1) -> None:
        """A claim begins, this part of the time ahead, and takes all that was noted."""
        self._claimed_at, self._due = self._clock.now(), None
        self._ahead = self._most_ahead * part_ahead

    def note(self, due: datetime | None) -> None:
        """Something comes due then, and is not claimed."""
        if due is not None and (self._due is None or due < self._due):
            self._due = due

    def note_after_claim(self, due: datetime | None) -> None:
        """A claim that was not full left what comes due then.

        If it could have been claimed, another worker is just claiming it, or it is hidden
        behind a backlog that may not be claimed; the next claim waits a moment.
        """
        now = self._clock.now()
        taken = due is not None and due - self._ahead <= now
        self.note(now + self._linger + self._ahead if taken else due)

    def note_now(self) -> None:
        """Something may be claimed at once."""
        self.note(self._clock.now())

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
