"""The tasks of a worker: runs begin as places allow, and those that do not wait share a task."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextvars import copy_context
from datetime import datetime
from typing import NamedTuple

from cadenza.domain.access.places import RecentRuns, claims_for

LONGEST_STEP_MS = 50
"""So long runs that do not wait follow each other before the event loop sees to everything else."""
HALF_LIFE_MS = 1_000
"""What was learned of runs counts half after this time."""
Task = asyncio.Task[None]


class Openings(NamedTuple):
    """The places that are free, and the runs that may take one."""

    free: int
    may_begin: Callable[[str], bool]


class QuickRuns:
    """How many runs ended in a task without waiting, from when until when."""

    __slots__ = ("began_ms", "ended", "until_ms")

    def __init__(self, began_ms: float) -> None:
        self.began_ms = self.until_ms = began_ms
        self.ended = 0

    @property
    def took_ms(self) -> float:
        """How long they took."""
        return self.until_ms - self.began_ms


class RunPace:
    """Learns from the latest runs how many claims the free places stand for."""

    def __init__(self, elapsed_ms: Callable[[], float]) -> None:
        self.elapsed_ms = elapsed_ms
        self._seen_ms = elapsed_ms()
        self._recent = RecentRuns()

    def note(self, quick: QuickRuns, *, waiting: int = 0) -> None:
        """These ended without waiting, and so many wait."""
        ended, waited, busy_ms = self._faded()
        self._recent = RecentRuns(ended + quick.ended, waited + waiting, busy_ms + quick.took_ms)

    def forget(self) -> None:
        """What was learned was wrong."""
        self._recent = RecentRuns()

    def claims_for(self, places: int) -> int:
        """How many claims so many free places stand for."""
        return claims_for(places, self._faded())

    def _faded(self) -> RecentRuns:
        now_ms = self.elapsed_ms()
        part = 0.5 ** ((now_ms - self._seen_ms) / HALF_LIFE_MS)
        self._seen_ms, (ended, waited, busy_ms) = now_ms, self._recent
        self._recent = RecentRuns(ended * part, waited * part, busy_ms * part)
        return self._recent


class RunTasks:
    """Runs what is launched, in order, each as soon as it may take a place.

    A task runs one after the other until one waits, which is its last: a task for each would cost more
    than a short run. If one leaves a cancellation or something in its context behind, none follows it.
    """

    def __init__(
        self, run: Callable[[str, Task], Awaitable[None]], *, pace: RunPace, on_ended: Callable[[], None]
    ) -> None:
        self._run = run
        self._pace = pace
        self._on_ended = on_ended
        self._queue: deque[tuple[str, datetime]] = deque()
        self._begun: dict[str, Task] = {}
        self._leading: dict[Task, QuickRuns] = {}
        """Tasks that have not waited yet."""
        self._tasks: dict[Task, None] = {}
        self._context = copy_context()
        """What tasks begin with, whichever run they follow."""
        self.openings: Callable[[], Openings] = lambda: Openings(len(self._queue), lambda _: True)
        """Without another rule, everything begins at once."""

    @property
    def begun(self) -> Mapping[str, Task]:
        """By run id: the tasks of runs that have begun and not ended."""
        return self._begun

    @property
    def queued(self) -> list[str]:
        """The runs that have not begun."""
        return [run_id for run_id, _ in self._queue]

    @property
    def unfinished(self) -> list[Task]:
        """The tasks that have not ended, in the order in which they began."""
        return list(self._tasks)

    def __len__(self) -> int:
        return len(self._begun) + len(self._queue)

    def launch(self, run_ids: Iterable[str], now: datetime) -> None:
        """Run these after what was launched before."""
        self._context = copy_context()
        self._queue.extend((run_id, now) for run_id in run_ids)
        self._go_on()

    def cancel(self, run_id: str) -> None:
        """Cancel a run that has begun."""
        if run_id in self._begun:
            self._begun[run_id].cancel()

    def take_late(self, before: datetime) -> list[str]:
        """Take out of the queue what was launched before this moment and finds no place even now."""
        (free, may_begin), late = self.openings(), list[str]()
        queue, self._queue = self._queue, deque()
        for run_id, launched_at in queue:
            if free and may_begin(run_id):
                free -= 1
            elif launched_at <= before:
                late.append(run_id)
                continue
            self._queue.append((run_id, launched_at))
        return late

    async def all_begun(self) -> None:
        """Let all begin that has a place."""
        while self._queue and self._leading:  # noqa: ASYNC110 - it takes a few steps of the event loop
            await asyncio.sleep(0)

    async def all_ended(self) -> None:
        """Wait until all that is launched has ended."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _go_on(self) -> None:
        if self._queue and not self._leading:
            self._start(1)

    def _start(self, count: int) -> None:
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(self._run_in_turn(), context=self._context.copy()) for _ in range(count)]
        self._tasks.update(dict.fromkeys(tasks))
        self._leading.update((task, QuickRuns(self._pace.elapsed_ms())) for task in tasks)
        loop.call_soon(self._follow, tasks)

    def _follow(self, tasks: list[Task]) -> None:
        """Those that have not ended in their first step wait; when none leads any more, others follow."""
        waiting = [self._leading.pop(task) for task in tasks if task in self._leading]
        for quick in waiting:
            self._pace.note(quick, waiting=1)
        if waiting and self._queue and not self._leading:
            self._start(min(2 * len(waiting), len(self._queue), self.openings().free))

    async def _run_in_turn(self) -> None:
        task, clean = asyncio.current_task(), copy_context()
        assert task is not None, "only a task can run"
        quick = self._leading[task]
        while (run_id := self._next()) is not None:
            self._begun[run_id] = task
            try:
                await self._run(run_id, task)
            finally:
                del self._begun[run_id]
            if task not in self._leading:
                break
            quick.ended, quick.until_ms = quick.ended + 1, self._pace.elapsed_ms()
            if task.cancelling() or quick.took_ms > LONGEST_STEP_MS or copy_context() != clean:
                break
        self._end(task, may_follow=run_id is not None)

    def _next(self) -> str | None:
        """Take the first out of the queue that may begin."""
        (free, may_begin), passed = self.openings(), list[tuple[str, datetime]]()
        found = None
        while self._queue and free and found is None:
            launched = self._queue.popleft()
            if may_begin(launched[0]):
                found = launched[0]
            else:
                passed.append(launched)
        self._queue.extendleft(reversed(passed))
        return found

    def _end(self, task: Task, *, may_follow: bool) -> None:
        self._tasks.pop(task, None)
        if (quick := self._leading.pop(task, None)) is not None:
            self._pace.note(quick)
            self._on_ended()
        if may_follow:  # Otherwise nothing that is queued may begin before another run ends.
            self._go_on()
