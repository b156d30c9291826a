"""Run until stopped: sleep until the next due moment, wake early, end cleanly."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from cadenza.domain.checks import milliseconds
from cadenza.domain.errors import Unavailable
from cadenza.domain.run import Claim
from cadenza.engine.execution import Executor
from cadenza.engine.flight import Flight
from cadenza.engine.jitter import offset_ms
from cadenza.engine.leases import LeaseKeeper
from cadenza.engine.scheduler import Scheduler, Started
from cadenza.engine.settling import RECOVERY_MS, Settling
from cadenza.engine.sweeper import Sweeper
from cadenza.engine.waiting import first_of, survived
from cadenza.ports.clock import Clock
from cadenza.ports.log import Logger
from cadenza.ports.store import Bell, EndpointStore


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSettings:
    """How a loop paces itself."""

    batch: int = 500
    """How many completions are settled together at most."""
    linger_ms: float = 5
    """How long completions are gathered."""
    poll_ms: int = 1_000
    """How long it sleeps at most, for the case that the bell was lost."""
    jitter_ms: int = 0
    """How far endpoints that would start together are spread."""
    grace_ms: int = 10_000
    """How long runs may go on after the loop was asked to stop."""


class Loop:
    """A worker's loop: while one batch runs, the next is claimed and the last is settled."""

    def __init__(
        self,
        *,
        scheduler: Scheduler,
        executor: Executor,
        sweeper: Sweeper,
        store: EndpointStore,
        clock: Clock,
        log: Logger,
        settings: LoopSettings,
    ) -> None:
        self._scheduler = scheduler
        self._sweeper = sweeper
        self._store = store
        self._clock = clock
        self._log = log
        self._settings = settings
        self._wake = asyncio.Event()
        self._flight = Flight(executor=executor, clock=clock, on_room=self._wake.set)
        self._stopped = asyncio.Event()
        self._rang = False
        self._looked_at = clock.now()
        self.alive_at = clock.now()
        """When it last went round; an hour ago means that it hangs."""

    @property
    def in_flight(self) -> int:
        """How many claims it holds."""
        return len(self._flight)

    def stop(self) -> None:
        """Ask it to claim no more, let runs finish, settle them and return; safe to call twice."""
        self._stopped.set()
        self._wake.set()

    async def run(self) -> None:
        """Run until stopped; a bug in any part ends it with that bug's exception."""
        settling = Settling(
            flight=self._flight,
            scheduler=self._scheduler,
            clock=self._clock,
            log=self._log,
            batch=self._settings.batch,
            linger_ms=self._settings.linger_ms,
        )
        leases = LeaseKeeper(flight=self._flight, scheduler=self._scheduler, clock=self._clock, log=self._log)
        sweeping = self._sweeper.run(self._scheduler.settings.lease_ms / 3)
        hearing = self._hear(self._store.listen())
        try:
            await first_of(self._serve(), settling.run(), leases.run(), sweeping, hearing)
        finally:
            self._flight.forget([claim.run_id for claim in self._flight.held])
            await self._flight.land(0)

    async def _serve(self) -> None:
        while not self._stopped.is_set():
            if not await survived(self._round(), self._log):
                await first_of(self._clock.sleep(RECOVERY_MS), self._stopped.wait())
        self._flight.give_back(self._flight.waiting, "its worker stopped")
        await self._flight.land(self._settings.grace_ms)
        await first_of(self._flight.empty.wait(), self._clock.sleep(self._settings.grace_ms))

    async def _round(self) -> None:
        """Start what waited for its moment, claim what is due, and rest if that was all."""
        self.alive_at = self._clock.now()
        self._wake.clear()
        if self._stopped.is_set():
            return
        await self._start_waiting()
        limit = min(self._room, self._scheduler.settings.claim_limit)
        claims = await self._scheduler.claim(limit) if limit else []
        await self._take(claims)
        if not claims or len(claims) < limit:
            await self._rest()

    async def _start_waiting(self) -> None:
        """Look again at waiting claims: at those that are due, and now and then at all of them.

        All are looked at when the bell has rung and, because it may be lost, at
        every poll.
        """
        now = self._clock.now()
        look_at_all = self._rang or now - self._looked_at >= milliseconds(self._settings.poll_ms)
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
        for claim in still_waiting:
            self._flight.hold(claim, self._starts_at(claim))
        await self._flight.launch(ready)

    async def _take(self, claims: Sequence[Claim]) -> None:
        """Launch what is due, and hold the rest until its moment, jitter included.

        What was claimed as started and is held by its jitter has not started after
        all; the store is told.
        """
        now = self._clock.now()
        held = [claim for claim in claims if claim.started_at is None or self._starts_at(claim) > now]
        for claim in held:
            self._flight.hold(claim._replace(started_at=None), self._starts_at(claim))
        held_back = [claim._replace(started_at=None) for claim in held if claim.started_at is not None]
        if held_back:
            await self._follow(held_back, await self._scheduler.start(held_back, self._flight.held_until))
        waiting = {claim.run_id for claim in held}
        await self._flight.launch([claim for claim in claims if claim.run_id not in waiting])

    def _starts_at(self, claim: Claim) -> datetime:
        offset = offset_ms(claim, self._settings.jitter_ms)
        return max(claim.due_at, claim.claimed_at) + milliseconds(offset) if offset else claim.due_at

    async def _rest(self) -> None:
        """Sleep until the next moment, the bell, room for more, or the poll, whichever comes first."""
        moments = [self._flight.next_moment()]
        if self._room:
            moments.append(await self._next_claim())
        span_ms = self._until(min((moment for moment in moments if moment is not None), default=None))
        await first_of(self._clock.sleep(span_ms), self._wake.wait())

    async def _next_claim(self) -> datetime | None:
        due = await self._store.next_due()
        return None if due is None else due - milliseconds(self._scheduler.settings.within_ms)

    def _until(self, moment: datetime | None) -> float:
        if moment is None:
            return self._settings.poll_ms
        ahead_ms = (moment - self._clock.now()) / milliseconds(1)
        if ahead_ms <= 0:  # Somebody else is just claiming it.
            return self._settings.linger_ms
        return min(ahead_ms, self._settings.poll_ms)

    @property
    def _room(self) -> int:
        return max(0, self._scheduler.settings.concurrency - len(self._flight))

    async def _hear(self, bell: Bell) -> None:
        while True:
            if not await survived(bell.heard(), self._log):
                await self._clock.sleep(RECOVERY_MS)
            self._rang = True
            self._wake.set()
