"""Real daily processes that share a set clock, log every run, and crash at a given point."""

import asyncio
import json
import multiprocessing
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tests.faults.engine_profiles import EVERYTHING

from cadenza.adapters.stores.postgres.locks.daily_lanes import PostgresLanes, SessionLocks
from cadenza.adapters.stores.postgres.locks.leased_lanes import LeasedLanes, LeasedLocks
from cadenza.adapters.stores.sql.daily.users import SqlDaily
from cadenza.domain.daily.keys import ProgrammeKey
from cadenza.domain.daily.user import DONE, DailyRunResult
from cadenza.domain.job_failure import ErrorClass
from cadenza.engine.daily.queue import DailyQueue
from cadenza.ports.daily import PendingDay
from cadenza.roots.daily import serve
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.daily.service import Clocks

PROCESSES = multiprocessing.get_context("forkserver")
STORES = ("cadenza.adapters.stores.postgres.store", "cadenza.adapters.stores.sqlite.store")
PROCESSES.set_forkserver_preload(["tests.faults.daily.daily_processes", *STORES])
Process = multiprocessing.context.ForkServerProcess
TIMEOUT_S = 120
FAILED = DailyRunResult("no luck", ErrorClass.REQ)


@dataclass
class SetClock:
    """A fast clock, set to a moment when it is first read; all processes share it."""

    path: Path
    moment: datetime
    speed: float

    def now(self) -> datetime:
        return self.moment + timedelta(milliseconds=self.elapsed_ms())

    def elapsed_ms(self) -> float:
        return (time.time() - self._began) * self.speed * 1_000

    async def sleep(self, span_ms: float) -> None:
        await asyncio.sleep(span_ms / 1_000 / self.speed)

    @cached_property
    def _began(self) -> float:
        with suppress(FileExistsError), self.path.open("x") as file:
            file.write(str(time.time()))
        while not (written := self.path.read_text()):
            time.sleep(0.001)
        return float(written)


class CrashPoint(NamedTuple):
    """Where a process crashes: just before or after so many calls."""

    at: str
    """`job`, `pending_days` or `finalize_days`; `take` lanes, if any was free, or `give` them away."""
    call: int
    after: bool = False


class LogEntry(NamedTuple):
    """What a process did, and when by the machine's steady clock and the set clock."""

    pid: int
    what: str
    """A user is `taken` from the queue, at the moment that decides it; `begin`, `ok`, `failed`; it `dies`."""
    user_id: str
    service_date: str
    steady: float
    moment: str


class ProcessSetup(NamedTuple):
    """The arguments of a process."""

    url: str
    folder: Path
    clock: SetClock
    job_s: float = 0.02
    crash_point: CrashPoint | None = None
    max_concurrency: int = 6
    tick_ms: int = 300_000
    profile: str = EVERYTHING
    lease_s: float = 3.0
    """How long lanes are leased where the engine has no locks that end with a session."""

    @property
    def log_file(self) -> Path:
        return self.folder / "log"

    @property
    def no_delay_file(self) -> Path:
        """While this file exists, runs take no time."""
        return self.folder / "haste"


class ProcessLog:
    """Appends entries to a file, one line each, so that a crash truncates only the last."""

    def __init__(self, setup: ProcessSetup) -> None:
        self._clock = setup.clock
        self._out = os.open(setup.log_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def write(
        self, what: str, user_id: str = "", day: date | None = None, at: datetime | None = None
    ) -> None:
        moment = (at or self._clock.now()).isoformat()
        entry = LogEntry(
            os.getpid(), what, user_id, "" if day is None else str(day), time.monotonic(), moment
        )
        os.write(self._out, f"{json.dumps(entry)}\n".encode())


class RecordingTargetRunner:
    """Runs of users whose ids begin with `never` fail, and half of those with `flaky`."""

    def __init__(self, setup: ProcessSetup, entries: ProcessLog, crash_trigger: "CrashTrigger") -> None:
        self._setup = setup
        self._log = entries
        self._crash_trigger = crash_trigger
        self._chance = Random(os.getpid())

    async def run(self, user_id: str, service_date: date, *, tenant_id: str) -> DailyRunResult:
        assert tenant_id == "default"
        self._log.write("begin", user_id, service_date)
        await self._crash_trigger("job")
        await asyncio.sleep(
            0 if self._setup.no_delay_file.exists() else self._chance.uniform(0, 2 * self._setup.job_s)
        )
        succeeds = not user_id.startswith("never") and (
            not user_id.startswith("flaky") or self._chance.random() < 0.5
        )
        self._log.write("ok" if succeeds else "failed", user_id, service_date)
        return DONE if succeeds else FAILED


class CrashTrigger:
    """Called at every possible crash point; kills the process at the given one."""

    def __init__(self, crash_point: CrashPoint | None, entries: ProcessLog) -> None:
        self._crash_point = crash_point
        self._log = entries
        self._calls: Counter[tuple[str, bool]] = Counter()

    async def __call__(self, at: str, *, after: bool = False) -> None:
        self._calls[at, after] += 1
        if self._crash_point == (at, self._calls[at, after], after):
            self._log.write("dies")
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(
        self, owner: type, method: str, at: str, *, counts: Callable[[Any], bool] = lambda _: True
    ) -> None:
        """Make a method a crash point, before and after each call."""
        original = getattr(owner, method)

        async def call(*given: Any, **named: Any) -> Any:
            await self(at)
            answer = await original(*given, **named)
            if counts(answer):
                await self(at, after=True)
            return answer

        setattr(owner, method, call)


def run_process(setup: ProcessSetup) -> None:
    """The main function of a process."""
    with (setup.folder / f"log-{os.getpid()}").open("wb") as log:
        os.dup2(log.fileno(), 2)
    settings = Settings(
        database_url=setup.url,
        database_profile=setup.profile,
        max_concurrency=setup.max_concurrency,
        tick_ms=setup.tick_ms,
        log_level="warning",
        grace_ms=2_000,
    )
    entries = ProcessLog(setup)
    crash_trigger = CrashTrigger(setup.crash_point, entries)
    crash_trigger.watch(SqlDaily, "pending_days", "pending_days")
    crash_trigger.watch(SqlDaily, "finalize_days", "finalize_days")
    _hasten(PostgresLanes, retry_s=0.2)
    _hasten(LeasedLanes, retry_s=0.2, lease_s=setup.lease_s)
    for locks in (SessionLocks, LeasedLocks):
        crash_trigger.watch(locks, "take", "take", counts=bool)
        crash_trigger.watch(locks, "release", "give")
    _log_taken_days(entries)
    asyncio.run(
        serve(
            settings,
            clocks=Clocks(setup.clock, setup.clock),
            target_runner=RecordingTargetRunner(setup, entries, crash_trigger),
        )
    )


def _hasten(lanes: type[PostgresLanes], **spans_s: float) -> None:
    (lanes.__init__.__kwdefaults__ or {}).update(spans_s)


def _log_taken_days(entries: ProcessLog) -> None:
    take = DailyQueue.take

    def logged_take(
        queue: DailyQueue, now: datetime, has_room: Callable[[ProgrammeKey], bool]
    ) -> PendingDay | None:
        pending = take(queue, now, has_room)
        if pending is not None:
            entries.write("taken", pending.user_id, pending.service_date, now)
        return pending

    DailyQueue.take = logged_take  # type: ignore[assignment, method-assign]


@contextmanager
def started(*setups: ProcessSetup) -> Iterator[list[Process]]:
    """Starts processes, and kills them at the end of the block."""
    processes = [PROCESSES.Process(target=run_process, args=(setup,)) for setup in setups]
    try:
        for process in processes:
            process.start()
        yield processes
    finally:
        for process in processes:
            if process.pid is not None:
                process.kill()
                process.join()


def read_log(folder: Path) -> list[LogEntry]:
    """What was done; the last line may have been cut by a kill."""
    path = folder / "log"
    lines = path.read_text().splitlines() if path.exists() else []
    return [LogEntry(*json.loads(line)) for line in lines if line.endswith("]")]


def until(true: Callable[[], bool], *processes: Process) -> None:
    """Come back when something has come true; none of the processes may end before."""
    limit = time.monotonic() + TIMEOUT_S
    while not true():
        assert time.monotonic() < limit, "it took too long"
        assert all(process.is_alive() for process in processes), "a process has ended"
        time.sleep(0.1)
