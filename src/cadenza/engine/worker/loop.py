"""A worker's loop: claim what is due, start it at its moment, execute it, settle it; until it is stopped."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any

from cadenza.domain.access.places import ClaimShares
from cadenza.domain.scheduling.abandon import is_in_order
from cadenza.domain.scheduling.due import claimable_at
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.domain.validation import milliseconds
from cadenza.engine.async_helpers import RECOVERY_MS, Attempts, GracePeriod, all_of, first_of
from cadenza.engine.claims_in_order import ClaimsInOrder
from cadenza.engine.worker.claim import Claimer, ClaimTimer
from cadenza.engine.worker.clock_check import ClockCheck, ClockStepWatch, watched_clock
from cadenza.engine.worker.events import ClaimPass, WorkerEvents
from cadenza.engine.worker.execute import Executor
from cadenza.engine.worker.functions import FunctionDeclarations
from cadenza.engine.worker.held_claims import HeldClaims
from cadenza.engine.worker.leases import CancelWatch, LeaseRenewer
from cadenza.engine.worker.places import WorkerPlaces
from cadenza.engine.worker.settle import AlertRule, Settler, SettleRule
from cadenza.engine.worker.start import Starter
from cadenza.engine.worker.suspects import SuspectTrials
from cadenza.engine.worker.sweeper import Sweeper
from cadenza.engine.worker.worker_settings import DEFAULTS, WorkerSettings
from cadenza.ports.clock import Clock, CronCalculator, Stopwatch
from cadenza.ports.dispatcher import CanRun
from cadenza.ports.scheduling import EndpointStore, Wakeup
from cadenza.ports.telemetry import Logger, Telemetry

LONGEST_QUEUE_MS = 100
"""How long a claim that has reached its moment waits for a place, before it is given back."""


class WorkerLoop:
    """While one batch runs, the next is claimed and the last is settled."""

    def __init__(
        self,
        *,
        store: EndpointStore,
        executor: Executor,
        sweeper: Sweeper,
        clock: Clock,
        cron: CronCalculator,
        telemetry: Telemetry,
        log: Logger,
        settings: WorkerSettings = DEFAULTS,
        alerts: AlertRule | None = None,
        can_run: CanRun = lambda: None,
        functions: FunctionDeclarations | None = None,
        stopwatch: Stopwatch | None = None,
    ) -> None:
        self._store = store
        self._sweeper = sweeper
        self._upkeep: list[FunctionDeclarations | ClockStepWatch] = [] if functions is None else [functions]
        self._clock_check: ClockCheck | None = None
        if stopwatch is not None:
            self._clock_check, watch = watched_clock(
                store=store, clock=clock, stopwatch=stopwatch, cron=cron, log=log, lease_ms=settings.lease_ms
            )
            self._upkeep.append(watch)
        self._clock = clock
        self._log = log
        self._settings = settings
        self._events = WorkerEvents(telemetry, log)
        self._held = held = HeldClaims(
            executor=executor,
            clock=clock,
            on_capacity=self._check_timer,
            stopwatch=stopwatch,
            lease_now=None if self._clock_check is None else self._clock_check.lease_now,
        )
        ahead_ms, linger_ms = settings.claim_ahead_ms, settings.settle_linger_ms
        self._places = WorkerPlaces(
            held, settings, kept=self._places_kept, careful=lambda: self._suspects.are_tried
        )
        self._claimer = Claimer(
            store=store,
            places=self._places,
            can_run=can_run,
            clock=clock,
            ahead_ms=ahead_ms,
            lease_ms=settings.lease_ms,
            lease_clock=held.lease_clock,
        )
        self._timer = ClaimTimer(clock, ahead_ms=ahead_ms, linger_ms=linger_ms)
        self._starter = Starter(
            held=held,
            store=store,
            can_run=can_run,
            clock=clock,
            poll_ms=settings.poll_ms,
            jitter_ms=settings.jitter_ms,
        )
        self._settler = Settler(
            held=held,
            store=store,
            rule=SettleRule(clock=clock, cron=cron, log=log, alerts=alerts),
            events=self._events,
            clock=clock,
            log=log,
            on_settled=self._on_settled,
            batch=settings.settle_batch,
            linger_ms=linger_ms,
            at_once=settings.settle_at_once,
        )
        self._leases = LeaseRenewer(held=held, store=store, clock=clock, log=log, lease_ms=settings.lease_ms)
        self._cancel_watch = CancelWatch(held=held, store=store, clock=clock, log=log)
        self._wake, self._timer_changed, self._stopped = asyncio.Event(), asyncio.Event(), asyncio.Event()
        beside: dict[str, Any] = {
            "claimer": self._claimer,
            "starter": self._starter,
            "held": held,
            "clock": clock,
            "stopped": self._stopped,
            "on_capacity": self._check_timer,
            "settings": settings,
        }
        self._suspects, self._in_order = SuspectTrials(**beside), ClaimsInOrder(self._clock_check, **beside)
        self._grace = GracePeriod(clock, settings.grace_ms)
        self._alive_at = clock.now()

    @property
    def alive_at(self) -> datetime:
        """When it last claimed and looked at what waits; an hour ago means that it hangs."""
        return min(self._alive_at, self._starter.alive_at)

    @property
    def in_flight(self) -> int:
        """How many claims it holds."""
        return len(self._held)

    def stop(self) -> None:
        """Ask it to claim no more, let runs finish, settle them and return; safe to call twice."""
        self._grace.begin()
        self._stopped.set()
        self._wake.set()
        self._starter.wake()
        self._suspects.wake()

    async def run(self) -> None:
        """Run until stopped; a bug in any part ends it with that bug's exception."""
        self._held.tasks.openings = self._places.openings
        sweeping = self._sweeper.run(self._settings.lease_ms / 3, self._suspects.wake, self._clock_check)
        listening = self._listen(self._store.listen())
        leases = (self._leases.run(), self._cancel_watch.run())
        upkeep = (*leases, sweeping, listening, *(part.run() for part in self._upkeep))
        parts = (self._claim_and_start(), self._settler.run(), *upkeep)
        try:
            await first_of(*parts, cancel_timeout=self._grace.cancel_timeout)
        finally:
            await self._abandon_held()

    async def run_once(self) -> list[SettledRun]:
        """Run what is due, once: claim, start each claim at its moment, execute, settle in one commit.

        The same steps as `run`, one after the other, for a clock that jumps: it returns
        when everything it claimed is settled, without polling, wake-ups or renewed leases.
        """
        began = self._clock.now()
        try:
            claims = await self._claimer.claim_all(self._places.limit)
            await self._starter.take(claims)
            while (moment := self._held.next_start()) is not None:
                await self._held.tasks.all_begun()  # What was launched begins before time moves on.
                await self._clock.sleep(max(0.0, self._ms_until(moment)))
                await self._starter.start_due()
            await self._held.tasks.all_ended()
            settled = await self._settler.settle(self._held.take_completions(self._held.completed))
        finally:
            await self._abandon_held()
        self._events.tick((self._clock.now() - began) / milliseconds(1), len(claims))
        return settled

    async def _claim_and_start(self) -> None:
        """Claim and start until stopped; then release what waits, and let the rest finish and be settled.

        A call that has not returned when the grace is over is cut off; the sweeper sees to what it holds.
        """
        passes = (
            self._repeat("claim", self._claim_pass),
            self._repeat("start", self._starter.start_pass),
            self._repeat("suspects", self._suspects.trial_pass),
            self._repeat("in order", self._in_order.claim_pass),
        )
        if not await all_of(
            *passes, until=self._grace.over(self._stopped), cancel_timeout=self._grace.cancel_timeout
        ):
            self._log.warning("a call did not return in time; its runs are left to the sweeper")
        self._held.release(self._held.waiting, "its worker stopped")
        await self._held.stop(self._grace.left_ms)
        await first_of(self._held.empty.wait(), self._clock.sleep(self._settings.grace_ms))

    async def _repeat(self, step: str, one_pass: Callable[[], Awaitable[None]]) -> None:
        attempts = Attempts(f"worker/{step}", self._clock, self._log)
        while not self._stopped.is_set():
            if not await attempts.try_once(one_pass()):
                await first_of(self._clock.sleep(RECOVERY_MS), self._stopped.wait())

    async def _claim_pass(self) -> None:
        """Claim what is due, take it on, and sleep until there may be more and capacity for it."""
        self._alive_at = self._clock.now()
        self._wake.clear()
        self._held.give_back(self._clock.now() - milliseconds(LONGEST_QUEUE_MS))
        began, claimed = self._real_time(), 0
        try:
            if (limits := self._places.shares()).limit:
                claimed = await self._claim(limits)
        finally:
            self._emit_pass((self._real_time() - began) * 1_000, claimed)
        if not self._can_claim:
            await self._sleep()

    async def _claim(self, limits: ClaimShares) -> int:
        """Claim; with few places left, less far ahead, since what waits for its moment takes up a place."""
        part_ahead = self._places.free_part if limits.bounds else 1
        self._timer.reset(part_ahead)
        claims = await self._claimer.claim(limits, part_ahead)
        if self._stopped.is_set():
            self._starter.hold(claims)
            return len(claims)
        await self._starter.take(claims)
        if self._wake.is_set():  # A change during the claim may have moved what it took.
            self._starter.wake_all()
        if len(claims) == limits.limit:
            self._timer.note(claims[-1].due_at)
        else:
            self._timer.note_after_claim(await self._claimer.next_due())
        return len(claims)

    def _emit_pass(self, took_ms: float, claimed: int) -> None:
        held, concurrency = self._held, self._settings.concurrency
        full = len(self._places.waiting)
        self._events.claim_pass(ClaimPass(took_ms, claimed, held.unended, held.running, concurrency, full))

    async def _sleep(self) -> None:
        """Sleep until there is something to claim, a wake-up, or the poll, whichever comes first."""
        poll_ms = LONGEST_QUEUE_MS if self._held.tasks.queued else self._settings.poll_ms
        await first_of(self._clock.sleep(poll_ms), self._wake.wait(), self._something_to_claim())

    async def _something_to_claim(self) -> None:
        while not self._can_claim:
            self._timer_changed.clear()
            moment = self._timer.next_claim if self._places.free else None
            sleeping = [] if moment is None else [self._clock.sleep(self._ms_until(moment))]
            await first_of(self._timer_changed.wait(), *sleeping)

    @staticmethod
    def _real_time() -> float:
        """How long a pass takes is measured in real seconds, also where a clock runs faster."""
        return asyncio.get_running_loop().time()

    def _ms_until(self, moment: datetime) -> float:
        return (moment - self._clock.now()) / milliseconds(1)

    @property
    def _can_claim(self) -> bool:
        return self._places.free > 0 and self._timer.is_due

    def _places_kept(self) -> int:
        """Places that nothing is claimed for: all of them while the clock cannot be trusted."""
        if self._clock_check is not None and not self._clock_check.trusted:
            return self._settings.concurrency
        return self._suspects.places_kept + self._in_order.places_kept

    def _on_settled(self, settled: Sequence[SettledRun]) -> None:
        if not self._timer.is_due:
            moments = (claimable_at(endpoint) for endpoint, *_ in settled)
            self._timer.note(min((moment for moment in moments if moment is not None), default=None))
        if any(is_in_order(endpoint) for endpoint, *_ in settled):
            self._in_order.note_ended()
        self._check_timer()

    def _check_timer(self) -> None:
        """There is capacity, or something comes due sooner."""
        if self._places.may_go_on():
            self._timer.note_now()
        self._timer_changed.set()
        self._suspects.look_again()
        self._in_order.look_again()

    async def _listen(self, wakeup: Wakeup) -> None:
        attempts = Attempts("worker/listen", self._clock, self._log)
        while True:
            if not await attempts.try_once(wakeup.wait()):
                await self._clock.sleep(RECOVERY_MS)
            self._wake.set()
            self._starter.wake_all()
            self._suspects.note_change()
            self._cancel_watch.wake()
            self._in_order.note_change()

    async def _abandon_held(self) -> None:
        """Stop what still runs, and leave its leases to the sweeper."""
        self._held.remove([claim.run_id for claim in self._held.claims])
        await self._held.stop(0)
