"""Runs the daily target for queued users, with a limit on concurrent runs and a timeout for each."""

import asyncio
from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple

from cadenza.domain.daily.rules import shard_of
from cadenza.domain.daily.user import DailyRunResult
from cadenza.domain.job_failure import ErrorClass, error_text, traceback_text
from cadenza.engine.daily.clock import DailyClock
from cadenza.engine.daily.events import DailyEvents, DailyRunEnd
from cadenza.engine.daily.finalizer import DailyFinalizer
from cadenza.engine.daily.programmes import RunnerProgrammes, SlotShares
from cadenza.engine.daily.queue import DailyQueue
from cadenza.engine.worker.execute import Deadline, Deadlines
from cadenza.ports.daily import PendingDay, ProgrammeTargets

NO_TARGET = DailyRunResult("this process has no target for the programme", ErrorClass.UNKNOWN)


class _RunningDay(NamedTuple):
    """A day whose run is under way, and since when."""

    day: PendingDay
    began_ms: float


class DailyExecutor:
    """Drains the queue. A run counts against the limit until it has really ended, however late that is."""

    def __init__(
        self,
        *,
        queue: DailyQueue,
        finalizer: DailyFinalizer,
        programmes: RunnerProgrammes,
        targets: ProgrammeTargets,
        daily_clock: DailyClock,
        events: DailyEvents,
        max_concurrency: int,
    ) -> None:
        self._queue = queue
        self._finalizer = finalizer
        self._programmes = programmes
        self._targets = targets
        self._daily_clock = daily_clock
        self._events = events
        self._shares = SlotShares(programmes, most=max_concurrency)
        self._running: dict[asyncio.Task[Any], _RunningDay] = {}
        self._deadlines = Deadlines()

    @property
    def in_flight(self) -> int:
        """The number of running tasks."""
        return len(self._running)

    @property
    def running(self) -> dict[asyncio.Task[None], PendingDay]:
        """The running tasks, and their days."""
        return {task: one.day for task, one in self._running.items()}

    def limit(self, most: int) -> None:
        """Set the limit on concurrent runs; those that are running continue."""
        self._shares.most = most
        self._queue.give_room_to_all()
        self.start_ready()

    async def run(self) -> None:
        """Start queued days until cancelled; runs that are under way then continue."""
        while True:
            await self._queue.filled.wait()
            self._queue.filled.clear()
            self.start_ready()

    def start_ready(self) -> None:
        """Start as many runs as the limit leaves free; none while the clock is not trusted."""
        while len(self._running) < self._shares.most and self._daily_clock.trusted:
            day = self._queue.take(self._daily_clock.read().now, self._shares.has_room)
            if day is None:
                return
            self._shares.take(day.key.programme)
            task = asyncio.create_task(self._run(day))
            self._running[task] = _RunningDay(day, self._daily_clock.read().steady_ms)
            task.add_done_callback(self._run_ended)
            self.emit_in_flight()

    def keep_shards(self, shards: Collection[int], ending: Collection[int] = ()) -> None:
        """Serve these shards alone: cancel runs of all others but `ending`, whose runs may finish."""
        self._queue.keep_shards(shards)
        for task, day in self.running.items():
            if (shard := shard_of(day.key.user)) not in shards and shard not in ending:
                task.cancel()

    async def wait_until_ended(self, grace_ms: float) -> None:
        """Start nothing more, and wait until all runs have ended or the grace period is over."""
        self._shares.most = 0
        if self._running:
            await asyncio.wait(list(self._running), timeout=grace_ms / 1_000)

    async def close(self, grace_ms: float) -> None:
        """Cancel all runs, and wait until they have ended or the grace period is over.

        What does not end within it counts as ended: nobody waits for it any more.
        """
        for task in self._running:
            task.cancel()
        await self.wait_until_ended(grace_ms)
        for task in list(self._running):
            self._cut_off(task, "it had not ended when its process did")

    async def _run(self, day: PendingDay) -> None:
        deadline = self._deadlines.set(self._timeout_ms(day))
        try:
            ended = await self._result(day, deadline)
        finally:
            self._deadlines.clear(deadline)
        if running := self._running.get(deadline.task):
            returned = self._daily_clock.read()
            duration_ms = returned.steady_ms - running.began_ms
            self._record_end(day, ended._replace(duration_ms=duration_ms), returned.now)

    def _record_end(self, day: PendingDay, ended: DailyRunEnd, returned_at: datetime) -> None:
        if ended.result == "ok":
            self._finalizer.add_success(day, returned_at)
        else:
            self._queue.release(day.key)
        self._events.job_stopped(day, ended)

    async def _result(self, day: PendingDay, deadline: Deadline) -> DailyRunEnd:
        """How the run ended; one that succeeds although its timeout has passed has succeeded."""
        try:
            result = await self._target_run(day)
        except asyncio.CancelledError:
            if deadline.expired and not deadline.task.uncancel():
                return self._timed_out(day)
            if deadline.task.cancelling():
                raise
            return DailyRunEnd("error", ErrorClass.UNKNOWN, "the job cancelled itself")
        except Exception as problem:  # noqa: BLE001 - what a target raises is the failure of this run alone
            return DailyRunEnd("error", ErrorClass.UNKNOWN, error_text(problem), traceback_text(problem))
        if not result.ok and (deadline.expired or result.timed_out):
            return self._timed_out(day)
        return _end_of(result)

    async def _target_run(self, day: PendingDay) -> DailyRunResult:
        runner = self._targets.runner_for(self._programmes.of(day.key.programme))
        if runner is None:
            return NO_TARGET
        return await runner.run(day.user_id, day.service_date, tenant_id=day.tenant_id)

    def _timeout_ms(self, day: PendingDay) -> int:
        timeout_ms = self._programmes.of(day.key.programme).job_timeout_ms
        assert timeout_ms is not None, "the installation has one"
        return timeout_ms

    def _timed_out(self, day: PendingDay) -> DailyRunEnd:
        return DailyRunEnd("timeout", ErrorClass.UNKNOWN, f"not done within {self._timeout_ms(day)} ms")

    def _run_ended(self, task: "asyncio.Task[None]") -> None:
        if task not in self._running:
            return
        if task.cancelled() or task.exception() is not None:
            self._cut_off(task, "it was cut off: its process stopped, or no longer serves its user")
        else:
            self._free_slot(task)
        self.emit_in_flight()
        self.start_ready()

    def _cut_off(self, task: "asyncio.Task[None]", error: str) -> None:
        """A run has no result; its event is emitted all the same."""
        day, began_ms = self._free_slot(task)
        self._queue.release(day.key)
        duration_ms = self._daily_clock.read().steady_ms - began_ms
        self._events.job_stopped(
            day, DailyRunEnd("error", ErrorClass.UNKNOWN, error, duration_ms=duration_ms)
        )

    def _free_slot(self, task: "asyncio.Task[None]") -> _RunningDay:
        running = self._running.pop(task)
        programme = running.day.key.programme
        self._shares.free(programme)
        self._queue.give_room(programme)
        return running

    def emit_in_flight(self) -> None:
        """Emit the number of runs under way."""
        self._events.in_flight(len(self._running), self._shares.most)


def _end_of(result: DailyRunResult) -> DailyRunEnd:
    if result.ok:
        return DailyRunEnd("ok")
    return DailyRunEnd("error", result.error_class, result.error, result.traceback)
