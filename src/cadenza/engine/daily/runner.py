"""The daily runner: a tick, a queue, an executor and a finalizer, each of which runs on its own."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from cadenza.domain.daily.rules import lane_of, lanes, shard_of, shards_of_lane, share
from cadenza.domain.validation import a_count, a_span, milliseconds
from cadenza.engine.async_helpers import first_of, survived
from cadenza.engine.daily.clock import DailyClock
from cadenza.engine.daily.events import DailyEvents, Ticked
from cadenza.engine.daily.executor import DailyExecutor
from cadenza.engine.daily.finalizer import DailyFinalizer
from cadenza.engine.daily.queue import DailyQueue
from cadenza.engine.daily.tick import DailyPlanner
from cadenza.ports.clock import Clock, Stopwatch
from cadenza.ports.daily import DailyStore, JobRunner
from cadenza.ports.telemetry import Logger, Telemetry


@dataclass(frozen=True, slots=True, kw_only=True)
class DailySettings:
    """How the daily runner paces itself; all processes on one database have the same `max_concurrency`."""

    tick_ms: int = 60_000
    max_concurrency: int = 20
    job_timeout_ms: int = 300_000
    batch: int = 500
    """How many verdicts are written in one commit at most."""
    page: int = 2_000
    """How many users are read at once at most."""

    def __post_init__(self) -> None:
        for name in ("tick_ms", "job_timeout_ms"):
            a_span(name, getattr(self, name))
        for name in ("max_concurrency", "batch", "page"):
            a_count(name, getattr(self, name), least=1, most=1_000_000)


DEFAULTS = DailySettings()
GRACE_MS = 10_000
"""How long jobs that were cut off may take to end."""


class DailyRunner:
    """Gives every user of its lanes one verdict a day.

    `plan`, `execute` and `finalize` run until cancelled. Each may be started again
    when it crashed: what they share, the queue and what is to be written, stays.
    """

    def __init__(
        self,
        *,
        store: DailyStore,
        jobs: JobRunner,
        clock: Clock,
        stopwatch: Stopwatch,
        telemetry: Telemetry,
        log: Logger,
        settings: DailySettings = DEFAULTS,
    ) -> None:
        self._clock = clock
        self._log = log
        self._settings = settings
        events, watch = DailyEvents(telemetry, log), DailyClock(clock, stopwatch)
        self.queue = DailyQueue()
        self.finalizer = DailyFinalizer(
            store=store, queue=self.queue, watch=watch, events=events, batch=settings.batch
        )
        self.executor = DailyExecutor(
            queue=self.queue,
            finalizer=self.finalizer,
            jobs=jobs,
            watch=watch,
            events=events,
            max_concurrency=settings.max_concurrency,
            job_timeout_ms=settings.job_timeout_ms,
        )
        self.planner = DailyPlanner(
            store=store,
            queue=self.queue,
            finalizer=self.finalizer,
            watch=watch,
            events=events,
            tick_ms=settings.tick_ms,
            page=settings.page,
        )
        self._of = lanes(settings.max_concurrency)
        self._held: frozenset[int] = frozenset()
        self._gained = asyncio.Event()
        self._ends = False
        self.serve(range(self._of))

    def serve(self, held: Collection[int], leaving: Collection[int] = ()) -> None:
        """Serve the users of these lanes alone, with the share of slots that belongs to them.

        Who waits in a lane that is lost is let go; who runs there is cut off, unless
        the lane is only being left: its cutoffs are seen until it is given away.
        """
        if self._ends:
            return
        if not self._held.issuperset(held):
            self._gained.set()
        self._held = frozenset(held)
        shards, left = self._shards(held), self._shards(leaving)
        self.planner.serve(shards | left)
        self.executor.keep(shards, left)
        self.executor.limit(share(held, self._settings.max_concurrency))

    def done_with(self, leaving: Collection[int]) -> list[int]:
        """Those lanes of which nothing runs or is to be written, and whose slots nobody here takes up."""
        users = {owed.key for owed in self.executor.running.values()} | self.finalizer.users
        busy = {lane_of(shard_of(key), self._of) for key in users}
        done: list[int] = []
        for lane in sorted(leaving):
            left = {*self._held, *leaving} - {lane, *done}
            if lane not in busy and self.executor.in_flight <= share(left, self._settings.max_concurrency):
                done.append(lane)
        return done

    async def plan(self) -> None:
        """Tick at every whole `tick_ms` of the clock, so that cutoffs are seen when they come.

        Who is newly served does not wait for that.
        """
        while True:
            self._gained.clear()
            await survived(self.tick(), self._log)
            await self._rest()

    async def execute(self) -> None:
        """Run what is enqueued."""
        await self.executor.run()

    async def finalize(self) -> None:
        """Write verdicts."""
        await self.finalizer.run(self._clock, self._log)

    async def tick(self) -> Ticked:
        """Plan once."""
        self.executor.tell()
        return await self.planner.tick()

    async def wind_down(self, grace_ms: float) -> None:
        """Start nothing more; let what runs end within a grace, and close."""
        self._ends = True
        self.planner.serve(())
        await self.executor.ended(grace_ms)
        await survived(self.close(), self._log)

    async def close(self) -> None:
        """Cut off running jobs, and write what has been decided."""
        await self.executor.close(GRACE_MS)
        while await self.finalizer.settle():
            pass

    async def _rest(self) -> None:
        tick = milliseconds(self._settings.tick_ms)
        now = self._clock.now()
        until = now + tick - _past(now.timestamp() * 1_000, self._settings.tick_ms)
        while timedelta() < (left := until - self._clock.now()) <= tick and not self._gained.is_set():
            await first_of(self._clock.sleep(max(1.0, left / milliseconds(1))), self._gained.wait())

    def _shards(self, held: Collection[int]) -> frozenset[int]:
        return frozenset[int]().union(*(shards_of_lane(lane, self._of) for lane in held))


def _past(now_ms: float, tick_ms: int) -> timedelta:
    return timedelta(milliseconds=now_ms % tick_ms)
