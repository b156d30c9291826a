"""Starts claims at their moments, after a second look."""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime
from zlib import crc32

from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.baseline import Cron, Every
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Claim
from cadenza.domain.validation import milliseconds
from cadenza.engine.async_helpers import first_of
from cadenza.engine.worker.held_claims import Flight
from cadenza.engine.worker.scheduler import Scheduler, Started
from cadenza.ports.clock import Clock

DOWNTIME_MS = 5_000
"""Later than this, an endpoint waited for a worker; nothing on a working system does."""
SHARE = 10
"""An interval endpoint is delayed by at most this part of its interval."""


def offset_ms(claim: Claim, most_ms: int) -> int:
    """How long a claim waits beyond its moment.

    Cron lines are always spread; intervals once, on their first run and after
    downtime, because from then on they run from their own start. What somebody
    asked for at a moment is not.
    """
    baseline = claim.endpoint.baseline
    if most_ms <= 0 or claim.attempt > 1:
        return 0
    if isinstance(baseline, Cron) and claim.source is Source.BASELINE_CRON:
        return _stable(claim, most_ms)
    if isinstance(baseline, Every) and _starts_afresh(claim):
        return _stable(claim, min(most_ms, baseline.interval_ms // SHARE))
    return 0


def _starts_afresh(claim: Claim) -> bool:
    if claim.source is not Source.BASELINE_INTERVAL:
        return False
    return claim.endpoint.last_run_at is None or claim.claimed_at - claim.due_at > milliseconds(DOWNTIME_MS)


def _stable(claim: Claim, most_ms: int) -> int:
    return crc32("/".join(claim.key).encode()) % (most_ms + 1)


class Starting:
    """Launches what is due; what is not waits for its moment, and is then looked at in batches."""

    def __init__(
        self, *, flight: Flight, scheduler: Scheduler, clock: Clock, poll_ms: float, jitter_ms: int
    ) -> None:
        self._flight = flight
        self._scheduler = scheduler
        self._clock = clock
        self._poll_ms = poll_ms
        self._jitter_ms = jitter_ms
        self._wake = asyncio.Event()
        self._rang = False
        self._looked_at = clock.now()
        self._sleeps_until: datetime | None = None
        self.alive_at = clock.now()
        """When it last went round."""

    def wake(self) -> None:
        """Go round now."""
        self._wake.set()

    def ring(self) -> None:
        """Look at all that wait, now: any of them may have been moved."""
        self._rang = True
        self._wake.set()

    async def round(self) -> None:
        """Look at waiting claims whose moment has come, and rest until the next."""
        self.alive_at = self._clock.now()
        self._wake.clear()
        await self._look()
        await self._rest()

    async def take(self, claims: Sequence[Claim]) -> None:
        """Launch what is due, and hold the rest until its moment, jitter included."""
        now, ready, held_back = self._clock.now(), list[Claim](), list[Claim]()
        for claim in claims:
            if claim.started_at is None:
                self.hold([claim])
            elif self._starts_at(claim) > now:
                held_back.append(claim)
            else:
                ready.append(claim)
        await self._flight.launch(ready)
        await self._hold_back(held_back)

    def hold(self, claims: Iterable[Claim]) -> None:
        """Keep claims until their moments."""
        for claim in claims:
            moment = self._starts_at(claim)
            self._flight.hold(claim, moment)
            if self._sleeps_until is None or moment < self._sleeps_until:
                self._wake.set()

    async def _hold_back(self, claims: Sequence[Claim]) -> None:
        """What was claimed as started and is held by its jitter has not started after all; tell the store."""
        if not claims:
            return
        waiting = [claim._replace(started_at=None) for claim in claims]
        self._flight.take(waiting)
        held_until = {claim.run_id: self._starts_at(claim) for claim in waiting}
        await self._follow(waiting, await self._scheduler.start(waiting, held_until))

    async def _look(self) -> None:
        """Look again at waiting claims: at those that are due, and now and then at all of them.

        All are looked at when the bell has rung and, because it may be lost, at
        every poll.
        """
        now = self._clock.now()
        look_at_all = self._rang or now - self._looked_at >= milliseconds(1) * self._poll_ms
        waiting = self._flight.waiting if look_at_all else self._flight.ready(now)
        if not waiting:
            return
        if look_at_all:
            self._rang, self._looked_at = False, now
        try:
            started = await self._scheduler.start(waiting, self._flight.held_until)
        except Unavailable:
            self._rang = True
            raise
        await self._follow(waiting, started)

    async def _follow(self, waiting: Sequence[Claim], started: Started) -> None:
        ready, still_waiting, cancelled = started
        answered = {claim.run_id for claim in (*ready, *still_waiting, *(ended.claim for ended in cancelled))}
        self._flight.drop([claim for claim in waiting if claim.run_id not in answered])
        self._flight.end(cancelled)
        self.hold(self._flight.still(still_waiting))
        await self._flight.launch(self._flight.still(ready))

    def _starts_at(self, claim: Claim) -> datetime:
        offset = offset_ms(claim, self._jitter_ms) if self._jitter_ms else 0
        return max(claim.due_at, claim.claimed_at) + milliseconds(offset) if offset else claim.due_at

    async def _rest(self) -> None:
        """Sleep until the next moment, the bell, or the poll, whichever comes first."""
        self._sleeps_until, span_ms = self._flight.next_moment(), self._poll_ms
        if self._sleeps_until is not None:
            span_ms = min(span_ms, (self._sleeps_until - self._clock.now()) / milliseconds(1))
        if span_ms > 0:
            await first_of(self._clock.sleep(span_ms), self._wake.wait())
