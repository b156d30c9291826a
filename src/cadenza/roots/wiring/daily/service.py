"""The daily runner as parts of a process, which give every user one verdict a day."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

from cadenza.adapters.clock import ClockStopwatch, SystemClock, SystemStopwatch
from cadenza.adapters.daily.single_process import DailyTargetLock, SingleProcessLanes, StandInLock
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.engine.daily.runner import DailyRunner, DailySettings
from cadenza.engine.supervision import Part
from cadenza.ports.clock import Clock, Stopwatch
from cadenza.ports.daily import DailyLanes
from cadenza.roots.settings import SQLITE, Settings
from cadenza.roots.wiring.daily.programmes import TargetsByProgramme, open_targets
from cadenza.roots.wiring.stores import open_pool
from cadenza.roots.wiring.worker import ProcessContext


class Clocks(NamedTuple):
    """Both clocks of a process."""

    clock: Clock
    stopwatch: Stopwatch


SYSTEM_CLOCKS = Clocks(SystemClock(), SystemStopwatch())


def clocks_for(clock: Clock) -> Clocks:
    """A clock, and the steady one that runs as fast."""
    return Clocks(clock, SystemStopwatch() if isinstance(clock, SystemClock) else ClockStopwatch(clock))


class DailyService:
    """One daily runner, for the lanes that this process holds."""

    def __init__(self, runner: DailyRunner, lanes: DailyLanes, *, grace_ms: float) -> None:
        self._runner = runner
        self._lanes = lanes
        self._grace_ms = grace_ms
        self._asked = asyncio.Event()
        runner.serve(())

    def parts(self) -> list[Part]:
        """Each restarts alone; the lanes are given up last, when what was decided is written."""
        return [
            Part("daily-tick", self._runner.run_ticks),
            Part("daily-executor", self._runner.execute),
            Part("daily-finalizer", self._runner.finalize),
            Part("daily-lanes", self._hold, self._asked.set),
        ]

    async def _hold(self) -> None:
        holding = asyncio.ensure_future(self._lanes.hold(self._runner))
        asked = asyncio.ensure_future(self._asked.wait())
        try:
            await asyncio.wait({holding, asked}, return_when=asyncio.FIRST_COMPLETED)
            if holding.done():
                holding.result()
            await self._runner.drain(self._grace_ms)
        finally:
            for task in (holding, asked):
                task.cancel()
            await asyncio.gather(holding, asked, return_exceptions=True)


def daily_settings(settings: Settings) -> DailySettings:
    """How the settings want it paced."""
    return DailySettings(
        tick_ms=settings.tick_ms,
        max_concurrency=settings.max_concurrency,
        job_timeout_ms=settings.job_timeout_ms,
        window_minutes=settings.window_minutes,
        retry_delay_minutes=settings.retry_delay_minutes,
    )


def daily_parts(
    settings: Settings,
    context: ProcessContext,
    targets: TargetsByProgramme,
    clocks: Clocks = SYSTEM_CLOCKS,
) -> list[Part]:
    """The parts of a daily runner; without a target, it stands in until a process that has one comes."""
    runner = DailyRunner(
        store=context.store.daily,
        programmes=context.store.programmes,
        targets=targets,
        clock=clocks.clock,
        stopwatch=clocks.stopwatch,
        telemetry=context.telemetry,
        log=context.log,
        settings=daily_settings(settings),
    )
    context.idle.stay_open_while(lambda: runner.busy)
    lanes = open_lanes(settings, context, stand_in=targets.stand_in)
    return DailyService(runner, lanes, grace_ms=settings.grace_ms).parts()


async def daily_parts_in_up(
    stack: AsyncExitStack, settings: Settings, context: ProcessContext, clocks: Clocks = SYSTEM_CLOCKS
) -> list[Part]:
    """The parts inside `cadenza up`; without a target, days are cut off all the same."""
    if not settings.daily:
        return []
    return daily_parts(settings, context, await open_targets(stack, settings, context), clocks)


def open_lanes(settings: Settings, context: ProcessContext, *, stand_in: bool) -> DailyLanes:
    """Shared with all processes on PostgreSQL; beside a file, one process has them all."""
    most, log = settings.max_concurrency, context.log
    if settings.database_url.startswith(SQLITE):
        path = Path(settings.database_url.removeprefix(SQLITE))
        lock = StandInLock if stand_in else DailyTargetLock
        leader_lock = lock(path, log, name="daily", does="another process serves daily users")
        return SingleProcessLanes(leader_lock, max_concurrency=most)
    pool = open_pool(settings, size=1)
    from cadenza.adapters.stores.postgres.locks.daily_lanes import PostgresLanes, StandInLanes
    from cadenza.adapters.stores.postgres.locks.leased_lanes import LeasedLanes, LeasedStandIn

    if pool.profile.advisory_locks:
        return (StandInLanes if stand_in else PostgresLanes)(pool, log, max_concurrency=most)
    lanes = LeasedStandIn if stand_in else LeasedLanes
    return lanes(pool, log, holder=TimeOrderedIds().new(), max_concurrency=most, sleep=context.idle.sleep)
