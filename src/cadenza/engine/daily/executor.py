"""Runs the jobs of users: so many at a time, and none for ever."""

import asyncio
from collections.abc import Collection
from datetime import datetime

from cadenza.domain.daily.rules import shard_of
from cadenza.domain.daily.user import ErrorClass, JobResult
from cadenza.domain.validation import LONGEST_TEXT
from cadenza.engine.daily.clock import DailyClock
from cadenza.engine.daily.events import DailyEvents, Ended
from cadenza.engine.daily.finalizer import DailyFinalizer
from cadenza.engine.daily.queue import DailyQueue
from cadenza.engine.worker.execute import Deadline, Deadlines
from cadenza.ports.daily import JobRunner, Owed


class DailyExecutor:
    """Drains the queue. A job keeps its slot until it has really ended, however late that is."""

    def __init__(
        self,
        *,
        queue: DailyQueue,
        finalizer: DailyFinalizer,
        jobs: JobRunner,
        watch: DailyClock,
        events: DailyEvents,
        max_concurrency: int,
        job_timeout_ms: int,
    ) -> None:
        self._queue = queue
        self._finalizer = finalizer
        self._jobs = jobs
        self._watch = watch
        self._events = events
        self._most = max_concurrency
        self._timeout_ms = job_timeout_ms
        self._running: dict[asyncio.Task[None], Owed] = {}
        self._deadlines = Deadlines()

    @property
    def in_flight(self) -> int:
        """How many jobs run."""
        return len(self._running)

    @property
    def running(self) -> dict[asyncio.Task[None], Owed]:
        """The jobs that run, and for which days."""
        return dict(self._running)

    def limit(self, most: int) -> None:
        """Let so many run at a time from now on; those that run go on."""
        self._most = most
        self.start_ready()

    async def run(self) -> None:
        """Start what is enqueued until cancelled; what runs then goes on."""
        while True:
            await self._queue.filled.wait()
            self._queue.filled.clear()
            self.start_ready()

    def start_ready(self) -> None:
        """Start as many as there are slots; none while the clock cannot be trusted."""
        while len(self._running) < self._most and self._watch.trusted:
            owed = self._queue.take(self._watch.read().now)
            if owed is None:
                return
            task = asyncio.create_task(self._attempt(owed))
            self._running[task] = owed
            task.add_done_callback(self._ended)
            self.tell()

    def keep(self, shards: Collection[int], ending: Collection[int] = ()) -> None:
        """Go on for the users of these shards alone; what runs for those that are ending may end."""
        self._queue.keep(shards)
        for task, owed in self._running.items():
            if (shard := shard_of(owed.key)) not in shards and shard not in ending:
                task.cancel()

    async def ended(self, grace_ms: float) -> None:
        """Start nothing more, and come back when all jobs have ended or the grace is over."""
        self._most = 0
        if self._running:
            await asyncio.wait(list(self._running), timeout=grace_ms / 1_000)

    async def close(self, grace_ms: float) -> None:
        """Cut off all jobs, and come back when they have ended or the grace is over."""
        for task in self._running:
            task.cancel()
        await self.ended(grace_ms)

    async def _attempt(self, owed: Owed) -> None:
        began_ms = self._watch.read().steady_ms
        deadline = self._deadlines.set(self._timeout_ms)
        try:
            ended = await self._result(owed, deadline)
        finally:
            self._deadlines.clear(deadline)
        returned = self._watch.read()
        self._take_in(owed, ended._replace(duration_ms=returned.steady_ms - began_ms), returned.now)

    def _take_in(self, owed: Owed, ended: Ended, returned_at: datetime) -> None:
        if ended.result == "ok":
            self._finalizer.succeeded(owed, returned_at)
        else:
            self._queue.release(owed.key)
        self._events.job_stopped(owed, ended)

    async def _result(self, owed: Owed, deadline: Deadline) -> Ended:
        """How the job ended; one that succeeds after its timeout all the same has succeeded."""
        try:
            result = await self._jobs.run(owed.user_id, owed.service_date, tenant_id=owed.tenant_id)
        except asyncio.CancelledError:
            if deadline.expired and not deadline.task.uncancel():
                return self._timed_out()
            if deadline.task.cancelling():
                raise
            return Ended("error", ErrorClass.UNKNOWN, "the job cancelled itself")
        except Exception as problem:  # noqa: BLE001 - whatever a job does costs nobody else anything
            return Ended("error", ErrorClass.UNKNOWN, _described(problem))
        if deadline.expired and not result.ok:
            return self._timed_out()
        return _ended(result)

    def _timed_out(self) -> Ended:
        return Ended("timeout", ErrorClass.UNKNOWN, f"not done within {self._timeout_ms} ms")

    def _ended(self, task: "asyncio.Task[None]") -> None:
        owed = self._running.pop(task)
        self.tell()
        if task.cancelled() or task.exception() is not None:
            self._queue.release(owed.key)
        self.start_ready()

    def tell(self) -> None:
        """Say how many jobs run."""
        self._events.in_flight(len(self._running), self._most)


def _ended(result: JobResult) -> Ended:
    return Ended("ok") if result.ok else Ended("error", result.error_class, result.error)


def _described(problem: Exception) -> str:
    kind = type(problem).__name__
    try:
        return f"{kind}: {problem}"[:LONGEST_TEXT]
    except Exception:  # noqa: BLE001 - it cannot even say what went wrong
        return kind
