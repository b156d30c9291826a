"""The tick: who is in the window is enqueued, whose window is over is finalized; no job is waited for."""

import asyncio
from bisect import bisect_right
from collections.abc import AsyncIterator, Collection
from datetime import datetime
from operator import attrgetter

from cadenza.domain.daily.rules import Service
from cadenza.domain.daily.user import Cause
from cadenza.domain.daily.window import WINDOW
from cadenza.domain.errors import Unavailable
from cadenza.engine.daily.clock import DailyClock, Reading
from cadenza.engine.daily.events import DailyEvents, Ticked
from cadenza.engine.daily.finalizer import DailyFinalizer
from cadenza.engine.daily.queue import DailyQueue, Offered
from cadenza.ports.daily import DailyStore, Owed

CUTOFF = attrgetter("cutoff")
OFFERED_AT_ONCE = 1_000
"""After so many the loop gets a turn, so that a large window holds nobody up."""
STALLED_TICKS = 3
"""A pause of so many ticks between two is a break in the service."""


class DailyPlanner:
    """Reads by index those who are in the window or past the cutoff without a verdict, and nobody else."""

    def __init__(
        self,
        *,
        store: DailyStore,
        queue: DailyQueue,
        finalizer: DailyFinalizer,
        watch: DailyClock,
        events: DailyEvents,
        tick_ms: int,
        page: int,
    ) -> None:
        self._store = store
        self._queue = queue
        self._finalizer = finalizer
        self._watch = watch
        self._events = events
        self._stalled_ms = STALLED_TICKS * tick_ms
        self._page = page
        self._shards: list[int] = []
        self._services: dict[int, Service] = {}
        self._broken: Cause | None = Cause.DOWN
        self._trusted = True
        self._served_ms: float | None = None

    def serve(self, shards: Collection[int]) -> None:
        """Serve these shards from the next tick on, and no others."""
        self._shards = sorted(shards)

    async def tick(self) -> Ticked:
        """Plan once.

        1. Take one `now`; while the clock cannot be trusted, do nothing.
        2. Hand to the finalizer whose cutoff has passed; it takes in finished jobs first.
        3. Enqueue who is in the window, the soonest cutoff first.
        """
        reading = self._watch.observe()
        ticked = Ticked()
        if self._believes():
            try:
                ticked = await self._planned(reading)
            except Unavailable:
                self._break(Cause.STORE)
                raise
        self._events.depth(len(self._queue), reading.now.date())
        self._events.ticked(ticked, self._watch.read().steady_ms - reading.steady_ms)
        return ticked

    def _believes(self) -> bool:
        """Can the clock be trusted? The first answer after a change is told."""
        trusted, self._trusted = self._trusted, self._watch.trusted
        if not self._trusted:
            self._break(Cause.CLOCK)
        if trusted is not self._trusted:
            self._events.clock_trusted(trusted=self._trusted)
        return self._trusted

    async def _planned(self, reading: Reading) -> Ticked:
        now, scanned, cut_off = reading.now, 0, 0
        wanted: list[Owed] = []
        for shard, service in self._in_service(reading).items():
            async for page in self._owed(shard, now):
                past = bisect_right(page, now, key=CUTOFF)
                self._finalizer.cut_off([owed.key for owed in page[:past]], now, service)
                wanted += self._wanted(page[past:], reading.steady_ms)
                scanned, cut_off = scanned + len(page), cut_off + past
        enqueued = await self._enqueue(sorted(wanted), reading.steady_ms)
        self._served_ms, self._broken = reading.steady_ms, None
        return Ticked(scanned, scanned - cut_off, enqueued, cut_off)

    def _wanted(self, in_window: list[Owed], steady_ms: float) -> list[Owed]:
        """Those who are neither held nor tried a moment ago: in a window that is full, few."""
        judge = self._queue.judge
        if self._events.verbose:
            for owed in in_window:
                self._events.judged(owed, judge(owed, steady_ms))
        free = self._queue.not_held(in_window)
        return [owed for owed in free if judge(owed, steady_ms) is Offered.ENQUEUED]

    def _in_service(self, reading: Reading) -> dict[int, Service]:
        """Since when each shard has been served; after a break, since now."""
        if self._served_ms is not None and reading.steady_ms - self._served_ms > self._stalled_ms:
            self._break(Cause.STALLED)
        known = self._services if self._broken is None else {}
        fresh = Service(reading.now, self._broken or Cause.DOWN)
        self._services = {shard: known.get(shard, fresh) for shard in self._shards}
        return self._services

    def _break(self, cause: Cause) -> None:
        """The service is broken until a tick comes to its end; what came first is the cause."""
        self._broken = self._broken or cause

    async def _owed(self, shard: int, now: datetime) -> AsyncIterator[list[Owed]]:
        after: Owed | None = None
        until = now + WINDOW
        while page := await self._store.owed_days(shard, until=until, limit=self._page, after=after):
            yield page
            if len(page) < self._page:
                return
            after = page[-1]

    async def _enqueue(self, wanted: list[Owed], steady_ms: float) -> int:
        """How many it was: a shard may have been lost since, or is being left."""
        enqueued = 0
        for place, owed in enumerate(wanted, 1):
            enqueued += self._queue.offer(owed, steady_ms) is Offered.ENQUEUED
            if place % OFFERED_AT_ONCE == 0:
                await asyncio.sleep(0)
        return enqueued
