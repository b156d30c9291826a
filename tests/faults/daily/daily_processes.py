"""Daily processes of the tests beside it: real ones, with a clock that is set and jobs that are noted."""

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

from cadenza.adapters.stores.postgres.daily_lanes import PostgresLanes
from cadenza.adapters.stores.sql.daily.users import SqlDaily
from cadenza.domain.daily.user import DONE, DailyRunResult, ErrorClass
from cadenza.engine.daily.queue import DailyQueue
from cadenza.ports.daily import PendingDay
from cadenza.roots.daily import serve
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.daily_service import Clocks

PROCESSES = multiprocessing.get_context("forkserver")
STORES = ("cadenza.adapters.stores.postgres.store", "cadenza.adapters.stores.sqlite.store")
PROCESSES.set_forkserver_preload(["tests.faults.daily.daily_processes", *STORES])
Process = multiprocessing.context.ForkServerProcess
PATIENCE_S = 120
NO_LUCK = DailyRunResult("no luck", ErrorClass.REQ)


@dataclass
class SetClock:
    """A clock that is set to a moment when it is first looked at, and runs faster; all processes share it."""

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


class Death(NamedTuple):
    """Where a process dies: just before or after so many calls."""

    at: str
    """`job`, `pending_days` or `finalize_days`; `take` lanes, if any was free, or `give` them away."""
    call: int
    after: bool = False


class Note(NamedTuple):
    """What a process did; when, by the machine's steady clock and the set one."""

    pid: int
    what: str
    """A user is `taken` from the queue, at the moment that decides it; `begin`, `ok`, `failed`; it `dies`."""
    user_id: str
    service_date: str
    steady: float
    moment: str


class Life(NamedTuple):
    """What a process is given."""

    url: str
    folder: Path
    clock: SetClock
    job_s: float = 0.02
    death: Death | None = None
    max_concurrency: int = 6
    tick_ms: int = 300_000

    @property
    def notes(self) -> Path:
        return self.folder / "notes"

    @property
    def haste(self) -> Path:
        """While there is such a file, jobs take no time."""
        return self.folder / "haste"


class Notes:
    """What a process writes down of itself, a line at a time, so that its death cuts none but the last."""

    def __init__(self, life: Life) -> None:
        self._clock = life.clock
        self._out = os.open(life.notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def write(
        self, what: str, user_id: str = "", day: date | None = None, at: datetime | None = None
    ) -> None:
        moment = (at or self._clock.now()).isoformat()
        note = Note(os.getpid(), what, user_id, "" if day is None else str(day), time.monotonic(), moment)
        os.write(self._out, f"{json.dumps(note)}\n".encode())


class RecordingTargetRunner:
    """Users whose ids begin with `never` have no luck, those with `flaky` half of the time."""

    def __init__(self, life: Life, notes: Notes, reached: "Reached") -> None:
        self._life = life
        self._notes = notes
        self._reached = reached
        self._chance = Random(os.getpid())

    async def run(self, user_id: str, service_date: date, *, tenant_id: str) -> DailyRunResult:
        assert tenant_id == "default"
        self._notes.write("begin", user_id, service_date)
        await self._reached("job")
        await asyncio.sleep(0 if self._life.haste.exists() else self._chance.uniform(0, 2 * self._life.job_s))
        lucky = not user_id.startswith("never") and (
            not user_id.startswith("flaky") or self._chance.random() < 0.5
        )
        self._notes.write("ok" if lucky else "failed", user_id, service_date)
        return DONE if lucky else NO_LUCK


class Reached:
    """Called at every place where a process may die; it dies there if it shall."""

    def __init__(self, death: Death | None, notes: Notes) -> None:
        self._death = death
        self._notes = notes
        self._calls: Counter[tuple[str, bool]] = Counter()

    async def __call__(self, at: str, *, after: bool = False) -> None:
        self._calls[at, after] += 1
        if self._death == (at, self._calls[at, after], after):
            self._notes.write("dies")
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(
        self, owner: type, method: str, at: str, *, counts: Callable[[Any], bool] = lambda _: True
    ) -> None:
        """Make a method such a place, both before and after it."""
        original = getattr(owner, method)

        async def call(*given: Any, **named: Any) -> Any:
            await self(at)
            answer = await original(*given, **named)
            if counts(answer):
                await self(at, after=True)
            return answer

        setattr(owner, method, call)


def live(life: Life) -> None:
    """The whole of a process."""
    with (life.folder / f"log-{os.getpid()}").open("wb") as log:
        os.dup2(log.fileno(), 2)
    settings = Settings(
        database_url=life.url,
        max_concurrency=life.max_concurrency,
        tick_ms=life.tick_ms,
        log_level="warning",
        grace_ms=2_000,
    )
    notes = Notes(life)
    reached = Reached(life.death, notes)
    reached.watch(SqlDaily, "pending_days", "pending_days")
    reached.watch(SqlDaily, "finalize_days", "finalize_days")
    quickly = {"again_s": 0.2}
    (PostgresLanes.__init__.__kwdefaults__ or {}).update(quickly)
    reached.watch(PostgresLanes, "_take", "take", counts=bool)
    reached.watch(PostgresLanes, "_give", "give")
    _note_what_is_taken(notes)
    asyncio.run(
        serve(
            settings,
            clocks=Clocks(life.clock, life.clock),
            target_runner=RecordingTargetRunner(life, notes, reached),
        )
    )


def _note_what_is_taken(notes: Notes) -> None:
    take = DailyQueue.take

    def noted(queue: DailyQueue, now: datetime) -> PendingDay | None:
        pending = take(queue, now)
        if pending is not None:
            notes.write("taken", pending.user_id, pending.service_date, now)
        return pending

    DailyQueue.take = noted  # type: ignore[assignment, method-assign]


@contextmanager
def started(*lives: Life) -> Iterator[list[Process]]:
    """Processes, all of them gone in the end."""
    processes = [PROCESSES.Process(target=live, args=(life,)) for life in lives]
    try:
        for process in processes:
            process.start()
        yield processes
    finally:
        for process in processes:
            if process.pid is not None:
                process.kill()
                process.join()


def noted(folder: Path) -> list[Note]:
    """What was done; the last line may have been cut by a kill."""
    path = folder / "notes"
    lines = path.read_text().splitlines() if path.exists() else []
    return [Note(*json.loads(line)) for line in lines if line.endswith("]")]


def until(true: Callable[[], bool], *processes: Process) -> None:
    """Come back when something has come true; none of the processes may end before."""
    limit = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < limit, "it took too long"
        assert all(process.is_alive() for process in processes), "a process has ended"
        time.sleep(0.1)
