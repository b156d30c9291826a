"""Claims what is under limits or has a priority, beside the claims of everything else."""

import asyncio
from collections.abc import Callable, Iterable
from datetime import datetime

from cadenza.domain.access.places import ClaimShares
from cadenza.domain.scheduling.run import Claim
from cadenza.domain.validation import milliseconds
from cadenza.engine.async_helpers import first_of
from cadenza.engine.worker.claim import Claimer
from cadenza.engine.worker.clock_check import ClockCheck
from cadenza.engine.worker.held_claims import HeldClaims
from cadenza.engine.worker.start import Starter
from cadenza.engine.worker.worker_settings import WorkerSettings
from cadenza.ports.clock import Clock

GATHERING_MS = 50
"""So long changes are gathered, while nothing in order is known."""
FIRST_WAIT_MS, LONGEST_WAIT_MS = 10.0, 500.0
"""How long it waits for a limit that another process frees: longer each time, until something is claimed."""
PARTS = 4
"""One of so many parts of the places is kept for what is in order, while more is due than gets places."""
FIRST_PARTS = 5
"""All but one of so many for what has a priority above 0: the last part is for others, of all tenants."""


class ClaimsInOrder:
    """Claims in the order of priorities, within limits, as places are free.

    What a limit holds back is not claimed, and costs nothing but a look now and then: at once when a run ends
    here, and else after a wait that grows.
    """

    def __init__(
        self,
        clock_check: ClockCheck | None = None,
        *,
        claimer: Claimer,
        starter: Starter,
        held: HeldClaims,
        clock: Clock,
        stopped: asyncio.Event,
        on_capacity: Callable[[], None],
        settings: WorkerSettings,
    ) -> None:
        self._claimer = claimer
        self._starter = starter
        self._held = held
        self._clock = clock
        self._stopped = stopped
        self._on_capacity = on_capacity
        self._clock_check = clock_check
        self._concurrency = settings.concurrency
        self._poll_ms = settings.poll_ms
        self._wake, self._changed = asyncio.Event(), asyncio.Event()
        self._waits = False
        """Something is due that waits for a place or a limit."""
        self._wait_ms = FIRST_WAIT_MS
        self.places_kept = 0
        """How many places are kept free."""

    def note_change(self) -> None:
        """Something was stored: look soon."""
        self._changed.set()

    def note_ended(self) -> None:
        """Runs in order ended: they freed limits, and their endpoints are due again some time."""
        self._wait_ms = FIRST_WAIT_MS
        self._wake.set()

    def look_again(self) -> None:
        """There may be places for what waits for one."""
        if self._waits:
            self._wake.set()

    async def claim_pass(self) -> None:
        """Claim what may be claimed now, and sleep until there may be more."""
        self._wake.clear()
        self._changed.clear()
        due = await self._claimer.next_in_order()
        now = self._clock.now()
        if due is None or due > now:
            self._note(waits=False)
            await self._sleep_until(due, now)
            return
        limits = self._claimer.shares_of(max(0, self._concurrency - self._held.launched))
        claims = await self._claim(limits) if limits.limit > 0 else []
        self._note(waits=True)
        self._keep(self._places_for_more(claims) if len(claims) >= limits.limit else 0)
        if claims:
            self._wait_ms = FIRST_WAIT_MS
            return
        await first_of(self._clock.sleep(self._wait_ms), self._wake.wait(), self._stopped.wait())
        self._wait_ms = min(2 * self._wait_ms, LONGEST_WAIT_MS, self._poll_ms)

    async def _claim(self, limits: ClaimShares) -> list[Claim]:
        untrusted = self._clock_check is not None and not self._clock_check.trusted
        if untrusted or self._stopped.is_set():
            return []
        claims = await self._claimer.claim_in_order(limits)
        if self._stopped.is_set():
            self._starter.hold(claims)
        else:
            await self._starter.take(claims)
        return claims

    async def _sleep_until(self, due: datetime | None, now: datetime) -> None:
        """Sleep until something in order is due, or a change; while none is known, changes are gathered."""
        span_ms = self._poll_ms if due is None else min(self._poll_ms, (due - now) / milliseconds(1))
        wakings = (self._wake.wait(), self._changed.wait(), self._stopped.wait())
        await first_of(self._clock.sleep(span_ms), *wakings)
        if due is None and self._changed.is_set() and not self._wake.is_set():
            await first_of(self._clock.sleep(min(GATHERING_MS, self._poll_ms)), self._wake.wait())

    def _note(self, *, waits: bool) -> None:
        self._waits = waits
        if not waits:
            self._wait_ms = FIRST_WAIT_MS
            self._keep(0)

    def _places_for_more(self, claims: Iterable[Claim]) -> int:
        """How many places to keep while more is due than gets one; of few places, one is left to others."""
        first = any(claim.endpoint.priority > 0 for claim in claims)
        part = self._concurrency - self._concurrency // FIRST_PARTS if first else self._concurrency // PARTS
        return min(max(1, part), self._concurrency - 1)

    def _keep(self, places: int) -> None:
        if places != self.places_kept:
            self.places_kept = places
            self._on_capacity()
