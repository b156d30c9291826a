"""Keeps the parts of a process running: restarts what crashes, and stops all in order."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from cadenza.domain.errors import Unavailable
from cadenza.domain.job_failure import error_text, traceback_text
from cadenza.domain.validation import milliseconds
from cadenza.engine.async_helpers import Work, first_of
from cadenza.ports.clock import Clock
from cadenza.ports.telemetry import PART_CRASHED, Logger, Telemetry

CANCEL_TIMEOUT_MS = 5_000
"""How long a part that was cancelled may take to end."""


class Part(NamedTuple):
    """One of the concurrent loops of a process."""

    name: str
    run: Callable[[], Work]
    """Start it anew, with nothing left of its last run; it returns only after it was asked to stop."""
    stop: Callable[[], None] | None = None
    """Ask it to end by itself; without this it is cancelled."""
    vital: bool = True
    """Whether the process ends if it keeps crashing; a part that is not vital is restarted without limit."""


class PartKeepsCrashing(Unavailable):
    """A part that kept crashing; the process ends with it."""


class _Returned(Exception):
    """A part that returned without being asked to stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPolicy:
    """How often a part may crash, and how soon it starts again."""

    crashes: int = 5
    """With so many crashes, it is given up."""
    within_ms: int = 60_000
    """Crashes that are longer ago are forgotten."""
    first_ms: int = 500
    """The pause after the first of them; it doubles with each that follows."""


DEFAULT_RESTARTS = RestartPolicy()


class Supervisor:
    """Runs parts concurrently, until it is asked to stop or gives one of them up.

    1. A part that raises, or returns unasked, has crashed; it starts again alone, after a pause that grows.
    2. A vital part that keeps crashing is given up: the others stop, and the process ends with its problem.
    3. Parts stop one after the other, in their order; each when the one before it has ended.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        log: Logger,
        telemetry: Telemetry | None = None,
        restarts: RestartPolicy = DEFAULT_RESTARTS,
    ) -> None:
        self._clock = clock
        self._log = log
        self._telemetry = telemetry
        self._restarts = restarts
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Ask all parts to end; safe to call twice, from a signal too."""
        self._stopping.set()

    async def run(self, *parts: Part) -> None:
        """Return when all parts have ended; PartKeepsCrashing if one of them could not be kept running."""
        supervised = [_SupervisedPart(part, self._clock, self._report, self._restarts) for part in parts]
        tasks = [asyncio.create_task(one.run(), name=one.part.name) for one in supervised]
        try:
            await first_of(self._stopping.wait(), asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED))
            for one, task in zip(supervised, tasks, strict=True):
                one.stop()
                await self._wait_until_ended(one, task)
        finally:
            for task in tasks:
                task.cancel()
            await first_of(asyncio.wait(tasks), self._clock.sleep(CANCEL_TIMEOUT_MS))
        for task in tasks:
            if task.done() and not task.cancelled():
                task.result()

    async def _wait_until_ended(self, one: "_SupervisedPart", task: "asyncio.Task[None]") -> None:
        """Wait for its end: as long as it takes if it ends by itself, not so long if it was cancelled."""
        waiting = [] if one.part.stop else [self._clock.sleep(CANCEL_TIMEOUT_MS)]
        await first_of(asyncio.wait({task}), *waiting)
        if not task.done():
            self._log.warning("a part did not stop in time and is abandoned", part=one.part.name)

    def _report(self, crash: "_Crash") -> None:
        """Log a crash and emit its event."""
        part, problem, again_ms = crash
        facts = {"part": part.name, "problem": error_text(problem), "traceback": traceback_text(problem)}
        if again_ms is None:
            self._log.error("a part keeps crashing; the process exits", **facts)
        else:
            event = "a part crashed and is restarted; the other parts continue"
            self._log.warning(event, **facts, again_ms=again_ms)
        if self._telemetry is not None:
            self._telemetry.emit(PART_CRASHED, {"crashes": 1}, {"part": part.name})


class _Crash(NamedTuple):
    part: Part
    problem: BaseException
    again_ms: float | None
    """None if it does not start again."""


class _SupervisedPart:
    """One part with its crashes and restarts."""

    def __init__(
        self, part: Part, clock: Clock, report: Callable[[_Crash], None], restarts: RestartPolicy
    ) -> None:
        self.part = part
        self._clock = clock
        self._report = report
        self._restarts = restarts
        self._crashes: deque[datetime] = deque()
        self._stopping = asyncio.Event()
        self._task: asyncio.Future[object] | None = None

    def stop(self) -> None:
        """Ask it to end, also while it waits for a restart."""
        self._stopping.set()
        if self._task is None:
            return
        if self.part.stop is None:
            self._task.cancel()
        else:
            self.part.stop()

    async def run(self) -> None:
        """Run and restart it until it was asked to stop; a problem while it stops is raised."""
        while not self._stopping.is_set():
            problem = await self._run_once()
            if not self._stopping.is_set():
                await self._wait_for_restart(problem)
            elif not isinstance(problem, _Returned | asyncio.CancelledError):
                raise problem

    async def _run_once(self) -> BaseException:
        """Run it once; the exception with which it ended."""
        task = asyncio.current_task()
        assert task is not None, "only a task can run a part"
        try:
            self._task = asyncio.ensure_future(self.part.run())
            await asyncio.wait({self._task})
            self._task.result()
        except asyncio.CancelledError as end:
            if task.cancelling():
                raise
            return end
        except Exception as problem:  # noqa: BLE001 - a bug must crash this part alone
            return problem
        finally:
            await self._cancel_task()
        return _Returned("it ended without a stop request")

    async def _cancel_task(self) -> None:
        task, self._task = self._task, None
        if task is not None and not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _wait_for_restart(self, problem: BaseException) -> None:
        """Sleep before the restart; PartKeepsCrashing if there were too many crashes."""
        now, restarts = self._clock.now(), self._restarts
        self._crashes.append(now)
        while now - self._crashes[0] > milliseconds(restarts.within_ms):
            self._crashes.popleft()
        crashes = len(self._crashes)
        gives_up = self.part.vital and crashes >= restarts.crashes
        again_ms = None if gives_up else restarts.first_ms * 2 ** (crashes - 1)
        self._report(_Crash(self.part, problem, again_ms))
        if again_ms is None:
            raise _gave_up(self.part, problem, restarts) from problem
        await first_of(self._clock.sleep(again_ms), self._stopping.wait())


def _gave_up(part: Part, problem: BaseException, restarts: RestartPolicy) -> PartKeepsCrashing:
    times, seconds = restarts.crashes, restarts.within_ms // 1_000
    return PartKeepsCrashing(
        f"The part {part.name} crashed {times} times within {seconds} s and was given up, "
        f"last with {error_text(problem)}; everything else was stopped in order."
    )
