"""Run until stopped: sleep until the next due moment, wake early, end cleanly."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from cadenza.domain.scheduling.due import claimable_at
from cadenza.domain.scheduling.settle import Settled
from cadenza.domain.validation import milliseconds
from cadenza.engine.async_helpers import all_of, first_of, survived
from cadenza.engine.worker.claim_timer import Pace
from cadenza.engine.worker.events import Round
from cadenza.engine.worker.execute import Executor
from cadenza.engine.worker.held_claims import Flight
from cadenza.engine.worker.leases import LeaseKeeper
from cadenza.engine.worker.scheduler import Scheduler
from cadenza.engine.worker.settle import RECOVERY_MS, Settling
from cadenza.engine.worker.start import Starting
from cadenza.engine.worker.sweeper import Sweeper
from cadenza.ports.clock import Clock
from cadenza.ports.store import Bell, EndpointStore
from cadenza.ports.telemetry import Logger


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSettings:
    """How a loop paces itself."""

    batch: int = 500
    """How many completions are settled together at most."""
    settlings: int = 2
    """How many such batches are settled at the same time at most, when one takes long."""
    linger_ms: float = 5
    """How long completions are gathered."""
    poll_ms: int = 1_000
    """How long it sleeps at most, for the case that the bell was lost."""
    jitter_ms: int = 0
    """How far endpoints that would start together are spread."""
    grace_ms: int = 10_000
    """How long runs may go on after the loop was asked to stop."""


LAST_WORDS_MS = 1_000
"""How long a call that was cut off may take to end."""


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
        self._flight = Flight(executor=executor, clock=clock, on_room=self._look_up)
        self._starting = Starting(
            flight=self._flight,
            scheduler=scheduler,
            clock=clock,
            poll_ms=settings.poll_ms,
            jitter_ms=settings.jitter_ms,
        )
        within_ms = scheduler.settings.within_ms
        self._pace = Pace(clock, within_ms=within_ms, linger_ms=settings.linger_ms)
        self._wake = asyncio.Event()
        self._news = asyncio.Event()
        self._stopped = asyncio.Event()
        self._stopped_at: datetime | None = None
        self._alive_at = clock.now()

    @property
    def alive_at(self) -> datetime:
        """When it last went round; an hour ago means that it hangs."""
        return min(self._alive_at, self._starting.alive_at)

    @property
    def in_flight(self) -> int:
        """How many claims it holds."""
        return len(self._flight)

    def stop(self) -> None:
        """Ask it to claim no more, let runs finish, settle them and return; safe to call twice."""
        self._stopped_at = self._stopped_at or self._clock.now()
        self._stopped.set()
        self._wake.set()
        self._starting.wake()

    async def run(self) -> None:
        """Run until stopped; a bug in any part ends it with that bug's exception."""
        settling = Settling(
            flight=self._flight,
            scheduler=self._scheduler,
            clock=self._clock,
            log=self._log,
            on_settled=self._settled,
            batch=self._settings.batch,
            linger_ms=self._settings.linger_ms,
            at_once=self._settings.settlings,
        )
        leases = LeaseKeeper(flight=self._flight, scheduler=self._scheduler, clock=self._clock, log=self._log)
        sweeping = self._sweeper.run(self._scheduler.settings.lease_ms / 3)
        hearing = self._hear(self._store.listen())
        parts = (self._serve(), settling.run(), leases.run(), sweeping, hearing)
        try:
            await first_of(*parts, patience=self._last_words)
        finally:
            self._flight.forget([claim.run_id for claim in self._flight.held])
            await self._flight.land(0)

    async def _serve(self) -> None:
        """Claim and start until stopped; then give back what waits, and let the rest finish and be settled.

        A call that has not returned when the grace is over is cut off, and what it
        holds is left to the sweeper.
        """
        rounds = (self._go_on(self._round), self._go_on(self._starting.round))
        if not await all_of(*rounds, until=self._grace(), patience=self._last_words):
            self._log.warning("a call did not return in time; what it holds is left to the sweeper")
        self._flight.give_back(self._flight.waiting, "its worker stopped")
        await self._flight.land(self._grace_left_ms)
        await first_of(self._flight.empty.wait(), self._clock.sleep(self._settings.grace_ms))

    async def _go_on(self, go_round: Callable[[], Awaitable[None]]) -> None:
        while not self._stopped.is_set():
            if not await survived(go_round(), self._log):
                await first_of(self._clock.sleep(RECOVERY_MS), self._stopped.wait())

    async def _round(self) -> None:
        """Claim what is due, take it on, and rest until there may be more and room for it."""
        self._alive_at = self._clock.now()
        self._wake.clear()
        began, claimed = self._time(), 0
        if limit := min(self._room, self._scheduler.settings.claim_limit):
            claimed = await self._claim(limit)
        self._tell((self._time() - began) * 1_000, claimed)
        if not self._can_claim:
            await self._rest()

    async def _claim(self, limit: int) -> int:
        self._pace.claiming()
        claims = await self._scheduler.claim(limit)
        if self._stopped.is_set():
            self._starting.hold(claims)
            return len(claims)
        await self._starting.take(claims)
        if self._wake.is_set():  # Who rang during the claim may have moved what it took.
            self._starting.ring()
        if len(claims) == limit:
            self._pace.learn(claims[-1].due_at)
        else:
            self._pace.left_by_a_claim(await self._store.next_due())
        return len(claims)

    def _tell(self, took_ms: float, claimed: int) -> None:
        flight, most = self._flight, self._scheduler.settings.concurrency
        self._scheduler.telling.went_round(Round(took_ms, claimed, len(flight), flight.running, most))

    async def _rest(self) -> None:
        """Sleep until there is something to claim, the bell, or the poll, whichever comes first."""
        poll = self._clock.sleep(self._settings.poll_ms)
        await first_of(poll, self._wake.wait(), self._something_to_claim())

    async def _something_to_claim(self) -> None:
        while not self._can_claim:
            self._news.clear()
            moment = self._pace.next_claim if self._room else None
            sleeping = [] if moment is None else [self._clock.sleep(self._until(moment))]
            await first_of(self._news.wait(), *sleeping)

    @staticmethod
    def _time() -> float:
        """How long a round takes is told in real seconds, also where a clock runs faster."""
        return asyncio.get_running_loop().time()

    def _until(self, moment: datetime) -> float:
        return (moment - self._clock.now()) / milliseconds(1)

    @property
    def _can_claim(self) -> bool:
        return self._room > 0 and self._pace.has_come

    @property
    def _room(self) -> int:
        return max(0, self._scheduler.settings.concurrency - len(self._flight))

    def _settled(self, settled: Sequence[Settled]) -> None:
        if not self._pace.has_come:
            moments = (claimable_at(endpoint) for endpoint, *_ in settled)
            self._pace.learn(min((moment for moment in moments if moment is not None), default=None))
        self._look_up()

    def _look_up(self) -> None:
        """There is room, or something comes due sooner."""
        self._news.set()

    async def _hear(self, bell: Bell) -> None:
        while True:
            if not await survived(bell.heard(), self._log):
                await self._clock.sleep(RECOVERY_MS)
            self._wake.set()
            self._starting.ring()

    async def _grace(self) -> None:
        await self._stopped.wait()
        await self._clock.sleep(self._settings.grace_ms)

    @property
    def _grace_left_ms(self) -> float:
        stopped_at = self._stopped_at or self._clock.now()
        past_ms = (self._clock.now() - stopped_at) / milliseconds(1)
        return max(0.0, self._settings.grace_ms - max(0.0, past_ms))

    async def _last_words(self) -> None:
        await self._clock.sleep(LAST_WORDS_MS)
