"""A world for the daily runner: clocks that tests move, and jobs that end when tests say so."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from functools import partial
from typing import Any, NamedTuple, TypeVar

from cadenza.adapters.stores.memory.daily.programmes import MemoryProgrammes
from cadenza.adapters.stores.memory.daily.users import MemoryDaily
from cadenza.adapters.stores.memory.tables import MemoryTables
from cadenza.domain.daily.keys import DAILY, DailyKey, ProgrammeKey, daily_key
from cadenza.domain.daily.programme import Programme
from cadenza.domain.daily.rules import enroll
from cadenza.domain.daily.user import (
    DONE,
    DailyRunResult,
    DailyUser,
    Finalization,
    Verdict,
    enrollment,
)
from cadenza.domain.errors import Unavailable
from cadenza.domain.job_failure import ErrorClass
from cadenza.engine.daily.runner import DailyRunner, DailySettings
from cadenza.ports.catalog import Page
from cadenza.ports.daily import DailyStore, Finalize, PendingDay
from cadenza.testing import FakeIds, FakeLog, FakeTelemetry

Answer = TypeVar("Answer")
MakeDaily = Callable[..., "DailyFixture"]
FAILED = DailyRunResult("no luck", ErrorClass.REQ)
SPINS = 300
"""More turns of the loop than anything takes that does not wait for a job."""
ALL = Page(1_000)


class Clocks:
    """Time on the wall, which can be stepped, and steady time, which cannot."""

    def __init__(self, start: datetime) -> None:
        self.wall = start
        self.steady_ms = 1_000.0

    def now(self) -> datetime:
        return self.wall

    def elapsed_ms(self) -> float:
        return self.steady_ms

    async def sleep(self, span_ms: float) -> None:
        self.advance(timedelta(milliseconds=span_ms))
        await asyncio.sleep(0)

    def advance(self, span: timedelta) -> None:
        self.wall += span
        self.steady_ms += span / timedelta(milliseconds=1)

    def go_to(self, moment: datetime) -> None:
        self.advance(moment - self.wall)

    def step(self, span: timedelta) -> None:
        self.wall += span


@dataclass(eq=False)
class FakeRun:
    """A job that runs until a test ends it, whoever cancels it."""

    user_id: str
    service_date: date
    began_at: datetime
    end: "asyncio.Future[DailyRunResult]"
    programme_id: str = DAILY
    killed: bool = False
    cancelled: int = 0

    async def until_ended(self) -> DailyRunResult:
        while True:
            try:
                return await asyncio.shield(self.end)
            except asyncio.CancelledError:
                if self.killed:
                    raise
                self.cancelled += 1


@dataclass
class FakeTargetRunner:
    """Remembers every job that was started."""

    clocks: Clocks
    answer: Callable[[str, date], DailyRunResult | None] = lambda *_: None
    """What a job comes to at once; None for one that a test will end."""
    started: list[FakeRun] = field(default_factory=list)
    running: list[FakeRun] = field(default_factory=list)
    most_at_once: int = 0
    killed: bool = False
    """Whether jobs end when they are cancelled."""

    def runner_for(self, programme: Programme) -> "FakeProgrammeRunner":
        """For jobs of one programme."""
        return FakeProgrammeRunner(self, programme.id)

    async def run(
        self, user_id: str, service_date: date, *, tenant_id: str, programme_id: str = DAILY
    ) -> DailyRunResult:
        end = asyncio.get_running_loop().create_future()
        run = FakeRun(user_id, service_date, self.clocks.now(), end, programme_id)
        run.killed = self.killed
        self.started.append(run)
        self.running.append(run)
        self.most_at_once = max(self.most_at_once, len(self.running))
        try:
            answer = self.answer(user_id, service_date)
            return await run.until_ended() if answer is None else answer
        finally:
            self.running.remove(run)


class FakeProgrammeRunner(NamedTuple):
    """The target of a programme."""

    jobs: FakeTargetRunner
    programme_id: str

    async def run(self, user_id: str, service_date: date, *, tenant_id: str) -> DailyRunResult:
        return await self.jobs.run(user_id, service_date, tenant_id=tenant_id, programme_id=self.programme_id)


class UnavailableDaily(MemoryDaily, MemoryProgrammes):
    """Daily users and programmes in memory, which can be out of reach, or lose the answers to commits."""

    away = False
    loses_answers = False

    def __init__(self) -> None:
        self.tables = MemoryTables(ids=FakeIds())
        super().__init__(self.tables)

    async def all_programmes(self, **asked: Any) -> list[Programme]:
        self._answer()
        return await super().all_programmes(**asked)

    async def pending_days(self, shard: int, **asked: Any) -> list[PendingDay]:
        self._answer()
        return await super().pending_days(shard, **asked)

    async def finalize_days(self, keys: Sequence[DailyKey], rule: Finalize) -> list[Finalization | None]:
        self._answer()
        answer = await super().finalize_days(keys, rule)
        if self.loses_answers:
            raise Unavailable("the answer to a commit was lost")
        return answer

    def _answer(self) -> None:
        if self.away:
            raise Unavailable("the store is away")


class DailyFixture:
    """A store, clocks, and one daily runner at a time."""

    def __init__(self, start: datetime, *, store: DailyStore | None = None, **settings: int) -> None:
        self.clocks = Clocks(start)
        self.store = store or UnavailableDaily()
        self.settings = DailySettings(**settings)
        self.telemetry, self.log = FakeTelemetry(), FakeLog()
        self.runs = FakeTargetRunner(self.clocks)
        self.start()

    def start(self) -> None:
        """A new process."""
        self.runner = DailyRunner(
            store=self.store,
            clock=self.clocks,
            stopwatch=self.clocks,
            telemetry=self.telemetry,
            log=self.log,
            settings=self.settings,
            programmes=self.store if isinstance(self.store, UnavailableDaily) else None,
            targets=self.runs,
        )

    async def crash(self) -> None:
        """The process dies, and all that it did not write down with it."""
        self.runner.finalizer._successes.clear()
        self.runner.executor._shares.most = 0
        tasks = self.runner.executor.running
        for run in self.runs.running:
            run.killed = True
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.runs.running.clear()

    async def enroll(
        self, user_id: str, due: time, *, timezone: str = "UTC", programme_id: str = DAILY
    ) -> DailyUser:
        wanted = enrollment("default", user_id, due, timezone=timezone, programme_id=programme_id)
        window = await self._window(programme_id)
        (user,) = await self.store.enroll([wanted], partial(enroll, now=self.clocks.now(), window=window))
        return user

    async def _window(self, programme_id: str) -> timedelta:
        """That of the programme, or that of the installation."""
        if not isinstance(self.store, UnavailableDaily):
            return self.settings.window
        programme = await self.store.programme(ProgrammeKey("default", programme_id))
        return self.settings.window if programme.window_minutes is None else programme.window

    async def tick(self) -> None:
        """Plan, start what can start, and write what is to be written."""
        await self.runner.tick()
        await self.pump()
        await self.settle()

    async def pump(self) -> None:
        """What the executor does between ticks."""
        self.runner.executor.start_ready()
        await self.spin()

    async def settle(self) -> None:
        """What the finalizer does between ticks, and the executor after it."""
        while await self.runner.finalizer.write_batch():
            pass
        await self.pump()

    async def finish(self, run: FakeRun, result: DailyRunResult = DONE) -> None:
        run.end.set_result(result)
        await self.spin()

    async def spin(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)

    async def every_minute(self, minutes: int) -> None:
        """Tick now and at every minute for so long."""
        for _ in range(minutes):
            await self.tick()
            self.clocks.advance(timedelta(minutes=1))

    async def verdicts(self, user_id: str) -> list[Verdict]:
        """Oldest first."""
        return (await self.store.verdicts_of(daily_key("default", user_id), ALL))[::-1]


def finished(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Answer]) -> Answer:
    """Let work come to its end, which must not depend on anything but itself."""
    return loop.run_until_complete(_spun(work))


async def _spun(work: Coroutine[Any, Any, Answer]) -> Answer:
    task = asyncio.ensure_future(work)
    for _ in range(SPINS):
        await asyncio.sleep(0)
        if task.done():
            return task.result()
    task.cancel()
    raise AssertionError("it waits for a job")


async def until(true: Callable[[], bool]) -> None:
    """Come back when something has come true, however busy the machine is."""
    async with asyncio.timeout(120):
        while not true():  # noqa: ASYNC110 - what is waited for tells nobody.
            await asyncio.sleep(0.001)
