"""Run until stopped: sleep until the next due moment, wake early, end cleanly."""

import asyncio
from dataclasses import dataclass
from datetime import datetime

from cadenza.domain.checks import milliseconds
from cadenza.engine.execution import Executor
from cadenza.engine.flight import Flight
from cadenza.engine.leases import LeaseKeeper
from cadenza.engine.scheduler import Scheduler
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
        self._stopping = False
        self._rang = False

    def stop(self) -> None:
        """Ask it to claim no more, let runs finish, settle them and return; safe to call twice."""
        self._stopping = True
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

    async def _serve(self) -> None:
        while not self._stopping:
            if not await survived(self._round(), self._log):
                await first_of(self._clock.sleep(RECOVERY_MS), self._wake.wait())
        self._flight.give_back(self._flight.waiting, "its worker stopped")
        await self._flight.land(self._settings.grace_ms)
        await first_of(self._flight.empty.wait(), self._clock.sleep(self._settings.grace_ms))

    async def _round(self) -> None:
        """Start what waited for its moment, claim what is due, and rest if that was all."""
        self._wake.clear()
        if self._stopping:
            return
        await self._start_waiting()
        limit = min(self._room, self._scheduler.settings.claim_limit)
        claims = await self._scheduler.claim(limit) if limit else []
        self._flight.hold([claim for claim in claims if claim.started_at is None])
        await self._flight.launch([claim for claim in claims if claim.started_at is not None])
        if not claims or len(claims) < limit:
            await self._rest()

    async def _start_waiting(self) -> None:
        """Look again at waiting claims: at those that are due, and at all of them when the bell has rung."""
        rang, self._rang = self._rang, False
        now = self._clock.now()
        waiting = [claim for claim in self._flight.waiting if rang or claim.due_at <= now]
        if not waiting:
            return
        ready, still_waiting, cancelled = await self._scheduler.start(waiting)
        answered = {claim.run_id for claim in (*ready, *still_waiting, *(ended.claim for ended in cancelled))}
        self._flight.forget([claim.run_id for claim in waiting if claim.run_id not in answered])
        self._flight.hold(still_waiting)
        self._flight.end(cancelled)
        await self._flight.launch(ready)

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
            await bell.heard()
            self._rang = True
            self._wake.set()
