"""The tick: enqueues users whose window is open, and hands users past their cutoff to the finalizer."""

import asyncio
from collections.abc import AsyncIterator, Collection
from datetime import datetime

from cadenza.domain.daily.rules import ServicePeriod
from cadenza.domain.daily.user import Cause
from cadenza.domain.daily.window import is_over
from cadenza.domain.errors import Unavailable
from cadenza.engine.daily.clock import ClockReading, DailyClock
from cadenza.engine.daily.events import DailyEvents, TickCounts
from cadenza.engine.daily.finalizer import DailyFinalizer
from cadenza.engine.daily.programmes import RunnerProgrammes
from cadenza.engine.daily.queue import DailyQueue, OfferResult
from cadenza.ports.daily import DailyStore, PendingDay

OFFERS_PER_YIELD = 1_000
"""After so many offers the event loop runs other tasks, so that a large window delays none of them."""
STALLED_TICKS = 3
"""More than so many tick intervals between two ticks interrupt the service."""


class DailyTicker:
    """Reads by index the users whose window is open or who are past a cutoff without a verdict."""

    def __init__(
        self,
        *,
        store: DailyStore,
        queue: DailyQueue,
        finalizer: DailyFinalizer,
        programmes: RunnerProgrammes,
        daily_clock: DailyClock,
        events: DailyEvents,
        tick_ms: int,
        page: int,
    ) -> None:
        self._store = store
        self._queue = queue
        self._finalizer = finalizer
        self._programmes = programmes
        self._daily_clock = daily_clock
        self._events = events
        self._stalled_ms = STALLED_TICKS * tick_ms
        self._page = page
        self._shards: list[int] = []
        self._periods: dict[int, ServicePeriod] = {}
        self._interrupted_by: Cause | None = Cause.DOWN
        self._trusted = True
        self._last_tick_ms: float | None = None
        self._counts = TickCounts()

    def serve(self, shards: Collection[int]) -> None:
        """Serve these shards from the next tick on, and no others."""
        self._shards = sorted(shards)

    async def tick(self) -> TickCounts:
        """Run one tick; its event is emitted also when the store cannot be reached.

        1. Take one `now`; while the clock is not trusted, do nothing.
        2. Read the programmes as they are now.
        3. Hand users past their cutoff to the finalizer, which writes finished runs first.
        4. Hand it users in their window whose programme does not serve the date, to pass over it.
        5. Enqueue all others in their window, soonest cutoff first.
        """
        reading = self._daily_clock.observe()
        self._counts = TickCounts()
        try:
            if self._clock_is_trusted():
                await self._scan(reading)
        except Unavailable:
            self._interrupt(Cause.STORE)
            raise
        finally:
            self._counts = self._counts._replace(cutoff_finalized=self._finalizer.take_cut_off())
            self._events.depth(len(self._queue), reading.now.date())
            self._events.ticked(self._counts, self._daily_clock.read().steady_ms - reading.steady_ms)
        return self._counts

    def _clock_is_trusted(self) -> bool:
        """Whether the clock can be trusted; a change is logged once."""
        before, self._trusted = self._trusted, self._daily_clock.trusted
        if not self._trusted:
            self._interrupt(Cause.CLOCK)
        if before is not self._trusted:
            self._events.clock_trusted(trusted=self._trusted)
        return self._trusted

    async def _scan(self, reading: ClockReading) -> None:
        now, scanned, eligible = reading.now, 0, 0
        wanted: list[PendingDay] = []
        periods = self._service_periods(reading)
        if periods and await self._programmes.read():
            self._queue.give_room_to_all()
        for shard, service in periods.items():
            async for page in self._pages(shard, now):
                past = [day.key for day in page if is_over(day.cutoff, now)]
                self._finalizer.add_cutoffs(past, now, service)
                in_window = [day for day in page if not is_over(day.cutoff, now)] if past else page
                served = self._served(in_window, now)
                wanted += self._wanted(served, reading.steady_ms)
                scanned, eligible = scanned + len(page), eligible + len(served)
                self._counts = TickCounts(scanned, eligible)
        enqueued = await self._enqueue(sorted(wanted), reading.steady_ms)
        self._counts = TickCounts(scanned, eligible, enqueued)
        self._last_tick_ms, self._interrupted_by = reading.steady_ms, None

    def _served(self, in_window: list[PendingDay], now: datetime) -> list[PendingDay]:
        """Those whose programme serves the date; the others are passed over, unless they run already."""
        if self._programmes.serve_every_date:
            return in_window
        served: list[PendingDay] = []
        passed: list[PendingDay] = []
        for day in in_window:
            (served if self._programmes.serves(day) else passed).append(day)
        self._finalizer.add_passed_over([day.key for day in self._queue.not_held(passed)], now)
        return served

    def _wanted(self, in_window: list[PendingDay], steady_ms: float) -> list[PendingDay]:
        """The days to enqueue: their users are neither queued nor running, and their retry delay is over."""
        result_of = self._queue.offer_result
        if self._events.verbose:
            for day in in_window:
                self._events.offered(day, result_of(day, steady_ms))
        free = self._queue.not_held(in_window)
        return [day for day in free if result_of(day, steady_ms) is OfferResult.ENQUEUED]

    def _service_periods(self, reading: ClockReading) -> dict[int, ServicePeriod]:
        """The service period of each shard; after an interruption it starts now."""
        if self._last_tick_ms is not None and reading.steady_ms - self._last_tick_ms > self._stalled_ms:
            self._interrupt(Cause.STALLED)
        current = self._periods if self._interrupted_by is None else {}
        new = ServicePeriod(reading.now, self._interrupted_by or Cause.DOWN)
        self._periods = {shard: current.get(shard, new) for shard in self._shards}
        return self._periods

    def _interrupt(self, cause: Cause) -> None:
        """The service is interrupted until a tick completes; the first cause counts."""
        self._interrupted_by = self._interrupted_by or cause

    async def _pages(self, shard: int, now: datetime) -> AsyncIterator[list[PendingDay]]:
        after: PendingDay | None = None
        while page := await self._store.pending_days(shard, until=now, limit=self._page, after=after):
            yield page
            if len(page) < self._page:
                return
            after = page[-1]

    async def _enqueue(self, wanted: list[PendingDay], steady_ms: float) -> int:
        """How many were enqueued; a shard may have been lost since they were read."""
        enqueued = 0
        for count, day in enumerate(wanted, 1):
            enqueued += self._queue.offer(day, steady_ms) is OfferResult.ENQUEUED
            if count % OFFERS_PER_YIELD == 0:
                await asyncio.sleep(0)
        return enqueued
