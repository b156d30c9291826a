"""Timeouts for many runs at once, with one timer for all of them."""

import asyncio


class Deadline:
    """The end of one run's patience."""

    __slots__ = ("expired", "moment", "task")

    def __init__(self, task: "asyncio.Task[object]", moment: float) -> None:
        self.task = task
        self.moment = moment
        self.expired = False


class Deadlines:
    """Cancels tasks that outlive their time.

    `asyncio.timeout` sets a timer of its own for each run, which costs more than
    all the rest of running a short one, and nearly none of them is ever needed. The
    one timer here stays set when what it was for is done, and then rings for nothing.
    """

    def __init__(self) -> None:
        self._open: set[Deadline] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def set(self, timeout_ms: int, task: "asyncio.Task[object] | None" = None) -> Deadline:
        """Cancel the task that runs now, unless it is done in time; who knows it spares the search for it."""
        task = task or asyncio.current_task()
        assert task is not None, "only a task can be timed"
        loop = task.get_loop()
        deadline = Deadline(task, loop.time() + timeout_ms / 1_000)
        self._open.add(deadline)
        if self._timer is None or self._loop is not loop or deadline.moment < self._timer.when():
            self._arm(loop, deadline.moment)
        return deadline

    def clear(self, deadline: Deadline) -> None:
        """It was in time, or its time is over."""
        self._open.discard(deadline)

    def _arm(self, loop: asyncio.AbstractEventLoop, moment: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._loop = loop
        self._timer = loop.call_at(moment, self._ring, loop)

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = loop.time()
        for deadline in [one for one in self._open if one.moment <= now]:
            self._open.discard(deadline)
            deadline.expired = True
            deadline.task.cancel()
        if self._open:
            self._arm(loop, min(one.moment for one in self._open))
