"""Daily processes of the tests beside it: real ones, with a clock that is set and jobs that are noted."""

import asyncio
import json
import multiprocessing
import os
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from cadenza.adapters.sql.postgres.daily import PostgresDaily
from cadenza.adapters.sql.sqlite.daily import SqliteDaily
from cadenza.domain.daily import DONE, ErrorClass, JobResult
from cadenza.roots.daily import serve
from cadenza.roots.daily_service import Times
from cadenza.roots.settings import Settings

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.daily.lives"])
Process = multiprocessing.context.ForkServerProcess
PATIENCE_S = 120
NO_LUCK = JobResult("no luck", ErrorClass.REQ)


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
    """`job`, `owed_days` or `settle_days`."""
    call: int
    after: bool = False


class Note(NamedTuple):
    """What a process did: `begin`, `ok` or `failed`; when, by the machine's steady clock and the set one."""

    pid: int
    what: str
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


class NotedJobs:
    """Users whose ids begin with `never` have no luck, those with `flaky` half of the time."""

    def __init__(self, life: Life, dying: Callable[[str], Awaitable[None]]) -> None:
        self._life = life
        self._dying = dying
        self._out = os.open(life.notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._chance = Random(os.getpid())

    async def run(self, user_id: str, service_date: date, *, tenant_id: str) -> JobResult:
        assert tenant_id == "default"
        self._note("begin", user_id, service_date)
        await self._dying("job")
        await asyncio.sleep(self._chance.uniform(0, 2 * self._life.job_s))
        lucky = not user_id.startswith("never") and (
            not user_id.startswith("flaky") or self._chance.random() < 0.5
        )
        self._note("ok" if lucky else "failed", user_id, service_date)
        return DONE if lucky else NO_LUCK

    def _note(self, what: str, user_id: str, service_date: date) -> None:
        moment = self._life.clock.now().isoformat()
        note = Note(os.getpid(), what, user_id, service_date.isoformat(), time.monotonic(), moment)
        os.write(self._out, f"{json.dumps(note)}\n".encode())


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
    reached = _mortal(life.death)
    asyncio.run(serve(settings, times=Times(life.clock, life.clock), jobs=NotedJobs(life, reached)))


def _mortal(death: Death | None) -> Callable[[str], Awaitable[None]]:
    """What is called at every place where a process may die; the stores' calls are such places, too."""
    calls: dict[tuple[str, bool], int] = {}

    async def reached(at: str, *, after: bool = False) -> None:
        calls[at, after] = calls.get((at, after), 0) + 1
        if death is not None and (at, calls[at, after], after) == death:
            os.kill(os.getpid(), signal.SIGKILL)

    def watched(name: str, method: Any) -> Any:
        async def call(*given: Any, **named: Any) -> Any:
            await reached(name)
            answer = await method(*given, **named)
            await reached(name, after=True)
            return answer

        return call

    for store in (SqliteDaily, PostgresDaily):
        for name in ("owed_days", "settle_days"):
            setattr(store, name, watched(name, getattr(store, name)))
    return reached


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
        time.sleep(0.02)
