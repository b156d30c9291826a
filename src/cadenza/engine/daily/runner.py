"""The daily runner: ticker, queue, executor and finalizer wired together, for the lanes it serves."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from cadenza.domain.daily.rules import concurrency_of_lanes, lane_count, lane_of, shard_of, shards_of_lane
from cadenza.domain.errors import InvalidRequest, Unavailable
from cadenza.domain.validation import check_count, check_duration_ms, milliseconds
from cadenza.engine.async_helpers import Attempts, first_of
from cadenza.engine.daily.clock import DailyClock
from cadenza.engine.daily.events import DailyEvents, TickCounts
from cadenza.engine.daily.executor import DailyExecutor
from cadenza.engine.daily.finalizer import DailyFinalizer
from cadenza.engine.daily.programmes import RunnerProgrammes
from cadenza.engine.daily.queue import DailyQueue
from cadenza.engine.daily.tick import DailyTicker
from cadenza.ports.clock import Clock, Stopwatch
from cadenza.ports.daily import DailyStore, ProgrammeStore, ProgrammeTargets
from cadenza.ports.telemetry import Logger, Telemetry


@dataclass(frozen=True, slots=True, kw_only=True)
class DailySettings:
    """Intervals and limits; all processes on one database must have the same `max_concurrency`."""

    tick_ms: int = 60_000
    max_concurrency: int = 20
    job_timeout_ms: int = 300_000
    window_minutes: int = 60
    """How long before a cutoff its window opens."""
    retry_delay_minutes: int = 10
    """How long after a try is enqueued the next one may be."""
    batch: int = 500
    """The most users whose verdicts are written in one commit."""
    page: int = 2_000
    """The most users read with one query."""

    def __post_init__(self) -> None:
        for name in ("tick_ms", "job_timeout_ms"):
            check_duration_ms(name, getattr(self, name))
        for name in ("max_concurrency", "batch", "page"):
            check_count(name, getattr(self, name), least=1, most=1_000_000)
        for name in ("window_minutes", "retry_delay_minutes"):
            check_count(name, getattr(self, name), least=1, most=MINUTES_OF_DAY)
        if self.window_minutes * 60_000 < self.tick_ms:
            raise InvalidRequest(
                "window_minutes must be no shorter than tick_ms: a window could pass between two ticks.",
                "window_minutes",
            )

    @property
    def window(self) -> timedelta:
        """How long a window lasts."""
        return timedelta(minutes=self.window_minutes)

    @property
    def retry_delay(self) -> timedelta:
        """How long a user waits for the next try."""
        return timedelta(minutes=self.retry_delay_minutes)


MINUTES_OF_DAY = 1_440
DEFAULTS = DailySettings()
GRACE_MS = 10_000
"""How long cancelled runs may take to end."""


class DailyRunner:
    """Gives every user of its lanes one verdict a day.

    `run_ticks`, `execute` and `finalize` run until cancelled. Each can be restarted after
    a crash: the queue and the verdicts to be written, which they share, stay.
    """

    def __init__(
        self,
        *,
        store: DailyStore,
        targets: ProgrammeTargets,
        clock: Clock,
        stopwatch: Stopwatch,
        telemetry: Telemetry,
        log: Logger,
        settings: DailySettings = DEFAULTS,
        programmes: ProgrammeStore | None = None,
    ) -> None:
        self._clock = clock
        self._log = log
        self._settings = settings
        events, daily_clock = DailyEvents(telemetry, log), DailyClock(clock, stopwatch)
        known = RunnerProgrammes(programmes, settings)
        self.queue = DailyQueue(known)
        self.finalizer = DailyFinalizer(
            store=store,
            queue=self.queue,
            programmes=known,
            daily_clock=daily_clock,
            events=events,
            batch=settings.batch,
        )
        self.executor = DailyExecutor(
            queue=self.queue,
            finalizer=self.finalizer,
            programmes=known,
            targets=targets,
            daily_clock=daily_clock,
            events=events,
            max_concurrency=settings.max_concurrency,
        )
        self.ticker = DailyTicker(
            store=store,
            queue=self.queue,
            finalizer=self.finalizer,
            programmes=known,
            daily_clock=daily_clock,
            events=events,
            tick_ms=settings.tick_ms,
            page=settings.page,
        )
        self._lane_count = lane_count(settings.max_concurrency)
        self._held: frozenset[int] = frozenset()
        self._gained = asyncio.Event()
        self._draining = False
        self.serve(range(self._lane_count))

    def serve(self, held: Collection[int], leaving: Collection[int] = ()) -> None:
        """Serve the users of these lanes alone, with the concurrency that belongs to these lanes.

        Users queued in any other lane are removed, and their runs are cancelled. Lanes
        that are `leaving` start nothing more: their runs may finish, and their cutoffs are
        finalized until the lanes are released.
        """
        if self._draining:
            return
        if not self._held.issuperset(held):
            self._gained.set()
        self._held = frozenset(held)
        shards, left = self._shards(held), self._shards(leaving)
        self.ticker.serve(shards | left)
        self.executor.keep_shards(shards, left)
        self.executor.limit(concurrency_of_lanes(held, self._settings.max_concurrency))

    def done_with(self, leaving: Collection[int]) -> list[int]:
        """The lanes that can be released: no runs, no verdicts to write, and their concurrency not in use."""
        users = {day.key for day in self.executor.running.values()} | self.finalizer.users
        busy = {lane_of(shard_of(key.user), self._lane_count) for key in users}
        done: list[int] = []
        for lane in sorted(leaving):
            left = {*self._held, *leaving} - {lane, *done}
            if lane not in busy and self.executor.in_flight <= concurrency_of_lanes(
                left, self._settings.max_concurrency
            ):
                done.append(lane)
        return done

    @property
    def busy(self) -> bool:
        """Whether days wait, run, or have verdicts to be written."""
        return bool(len(self.queue) or self.executor.in_flight or self.finalizer.pending)

    async def run_ticks(self) -> None:
        """Tick at every multiple of `tick_ms` on the clock, so that cutoffs are seen on time.

        New lanes are served at once, without waiting for the next tick.
        """
        attempts = Attempts("daily-tick", self._clock, self._log)
        while True:
            self._gained.clear()
            await attempts.try_once(self.tick())
            await self._until_next_tick()

    async def execute(self) -> None:
        """Run queued days."""
        await self.executor.run()

    async def finalize(self) -> None:
        """Write verdicts."""
        await self.finalizer.run(self._clock, self._log)

    async def tick(self) -> TickCounts:
        """Run one tick."""
        self.executor.emit_in_flight()
        return await self.ticker.tick()

    async def drain(self, grace_ms: float) -> None:
        """Start nothing more, let runs end within the grace period, and close.

        A last tick, which reads nothing, counts what was written since the one before.
        """
        self._draining = True
        self.ticker.serve(())
        await self.executor.wait_until_ended(grace_ms)
        try:
            await self.close()
        except Unavailable as problem:
            users = self.finalizer.pending
            self._log.warning(
                "results could not be written before shutdown; the next process for these users retries",
                part="daily-finalizer",
                users=users,
                problem=problem.message,
            )
        await self.tick()

    async def close(self) -> None:
        """Cancel runs, and write the verdicts that are decided."""
        await self.executor.close(GRACE_MS)
        while await self.finalizer.write_batch():
            pass

    async def _until_next_tick(self) -> None:
        tick = milliseconds(self._settings.tick_ms)
        now = self._clock.now()
        until = now + tick - _since_tick(now.timestamp() * 1_000, self._settings.tick_ms)
        while timedelta() < (left := until - self._clock.now()) <= tick and not self._gained.is_set():
            await first_of(self._clock.sleep(max(1.0, left / milliseconds(1))), self._gained.wait())

    def _shards(self, held: Collection[int]) -> frozenset[int]:
        return frozenset[int]().union(*(shards_of_lane(lane, self._lane_count) for lane in held))


def _since_tick(now_ms: float, tick_ms: int) -> timedelta:
    return timedelta(milliseconds=now_ms % tick_ms)
