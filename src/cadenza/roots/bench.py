"""What this machine does in a second: plans, and full cycles on an SQLite file."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.null import NoLog
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.governor import plan_next_run
from cadenza.domain.scheduling.hint import IntervalHint
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.target import CallableTarget
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.process import run_event_loop, tune_garbage_collection
from cadenza.roots.wiring.stores import open_store
from cadenza.roots.wiring.worker import ProcessContext, open_loop
from cadenza.surfaces.cli.launchers import BenchResult
from cadenza.surfaces.cli.output.terminal import Progress

NOW = datetime(2030, 1, 31, 12, tzinfo=UTC)
LONGEST_S = 600
ENDPOINTS = 2_000
WARM_UP_S = 0.5
STEP_S = 0.1
PLANS_AT_ONCE = 1_000
SHARE_OF_PLANS = 0.2
"""How much of the time goes to plans; cycles vary more, and get the rest."""


def bench(*, seconds: float, progress: Progress) -> BenchResult:
    """Measure for so many seconds."""
    if not 0 < seconds <= LONGEST_S:
        raise InvalidRequest(f"--seconds must be above 0 and at most {LONGEST_S:,}.", "seconds")
    planning = seconds * SHARE_OF_PLANS
    plans = plans_per_second(planning)
    progress(planning)
    with TemporaryDirectory() as folder:
        tune_garbage_collection()
        url = f"sqlite:///{Path(folder) / 'bench.db'}"
        settings = Settings(database_url=url, worker_concurrency=ENDPOINTS, jitter_ms=0, claim_ahead_ms=0)
        per_second, cpu_us = run_event_loop(
            _cycles(settings, seconds - planning, lambda at: progress(planning + at))
        )
    return BenchResult(round(plans), round(per_second), round(cpu_us, 1))


def plans_per_second(seconds: float) -> float:
    """How many next runs the governor decides in a second of CPU."""
    cron, endpoints = CronsimCron(), cycle(_planned())
    done, began = 0, process_time()
    while process_time() - began < seconds:
        for _ in range(PLANS_AT_ONCE):
            plan_next_run(NOW, next(endpoints), cron)
        done += PLANS_AT_ONCE
    return done / (process_time() - began)


def _planned() -> Iterator[Endpoint]:
    for number in range(PLANS_AT_ONCE):
        hint = IntervalHint(30_000, NOW + timedelta(hours=1)) if number % 2 else None
        yield Endpoint(
            id=f"endpoint-{number}",
            name="endpoint",
            baseline=Every(60_000 + number),
            guard=Guard(20_000, 300_000),
            interval_hint=hint,
            last_run_at=NOW - timedelta(seconds=number % 60),
        )


class Noop:
    """A function that only counts."""

    def __init__(self) -> None:
        self.count = 0

    async def __call__(self) -> None:
        """One more."""
        self.count += 1


async def _cycles(settings: Settings, seconds: float, progress: Progress) -> tuple[float, float]:
    """Endpoints that are always due, run by a worker: cycles per second, and microseconds of CPU for each."""
    clock, log, noop, callables = SystemClock(), NoLog(), Noop(), CallableDispatcher()
    callables.register("noop", noop)
    async with open_store(settings, ids=TimeOrderedIds(), log=log) as store:
        for number in range(ENDPOINTS):
            await store.endpoints.add(_always_due(f"endpoint-{number}", clock.now()))
        context = ProcessContext(store=store, clock=clock, log=log, callables=callables)
        async with open_loop(settings, context) as loop:
            running = asyncio.create_task(loop.run())
            await asyncio.sleep(WARM_UP_S)
            lap = await _lap(noop, seconds, progress)
            loop.stop()
            await running
    return lap


def _always_due(name: str, now: datetime) -> Endpoint:
    return Endpoint(id=name, name=name, target=CallableTarget("noop"), baseline=Every(1), next_run_at=now)


async def _lap(noop: Noop, seconds: float, progress: Progress) -> tuple[float, float]:
    before, began, cpu = noop.count, perf_counter(), process_time()
    while perf_counter() - began < seconds:
        await asyncio.sleep(STEP_S)
        progress(min(seconds, perf_counter() - began))
    cycles = noop.count - before
    return cycles / (perf_counter() - began), (process_time() - cpu) / max(1, cycles) * 1e6
