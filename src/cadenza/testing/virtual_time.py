"""An event loop on virtual time: it never sleeps, and one seed decides the order of everything."""

import asyncio
from asyncio import events
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from contextlib import suppress
from contextvars import Context, copy_context
from functools import partial
from heapq import heappop, heappush
from itertools import count
from random import Random
from sys import get_asyncgen_hooks, set_asyncgen_hooks
from typing import Any, TypeVar, TypeVarTuple, Unpack
from warnings import catch_warnings, simplefilter

from cadenza.testing.simulated_process import NEVER, PROCESS, SimulatedProcess

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")
ExceptionHandler = Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object]
FEWEST_PRUNED = 256
MOST_ROUNDS = 20_000
"""How many rounds there may be at one moment."""
MOST_CLOSINGS = 100
"""How often a coroutine may wait again while it is closed."""


class Stalled(RuntimeError):
    """Time cannot move on: every task waits for something that no timer brings, or they never wait."""


class _Task(asyncio.Task[Any]):
    """A task whose hash is its number, so that sets of tasks have the same order every time."""

    def __init__(self, coro: Any, *, number: int, context: Context, **given: Any) -> None:
        self.number = number  # Before anything asks for the hash.
        self.context = context
        super().__init__(coro, context=context, **given)

    def close(self) -> None:
        """Close it where it stands; it may wait again and again while it is closed."""
        self._log_destroy_pending = False  # It is meant to be.
        for _ in range(MOST_CLOSINGS):
            with suppress(Exception):
                self.context.run(self.get_coro().close)
                return

    def __hash__(self) -> int:
        return self.number


class VirtualTimeLoop(asyncio.BaseEventLoop):
    """Runs tasks in virtual time, which stands still while one is ready and jumps when none is.

    The same seed gives the same order of the same callbacks. `run_in_executor` calls the function at
    once. There are no sockets, subprocesses or signals. A loop that can never go on raises `Stalled`.

        with asyncio.Runner(loop_factory=partial(VirtualTimeLoop, seed=1)) as runner:
            runner.run(main())

    A program may be several processes, which `start_process` starts, and which can be killed and frozen.
    """

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self.random = Random(seed)  # noqa: S311 - the same chance every time is what it is for
        self._now, self._rounds = 0.0, 0
        self._numbers = count(1)
        self._main = SimulatedProcess("main")
        self._processes = [self._main]
        self._tasks: list[_Task] = []
        self._prune_at = FEWEST_PRUNED
        self._running = self._closed = self._stopping = False
        self._exception_handler: ExceptionHandler | None = None

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._now

    def start_process(
        self, name: str, work: Callable[[SimulatedProcess], Coroutine[Any, Any, Any]]
    ) -> SimulatedProcess:
        """Start a process, whose first task does this work."""
        self._processes = [one for one in self._processes if one.alive]
        process = SimulatedProcess(name)
        self._processes.append(process)
        self.run_in_process(process, lambda: self.create_task(work(process)))
        return process

    def run_in_process(self, process: SimulatedProcess, call: Callable[[], Result]) -> Result:
        """Call a function whose tasks and timers belong to a process."""
        context = copy_context()
        context.run(PROCESS.set, process)
        return context.run(call)

    def call_soon(
        self,
        callback: Callable[[Unpack[Arguments]], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.Handle:
        """Call a function when its process comes to it."""
        context = copy_context() if context is None else context
        handle = asyncio.Handle(callback, args, self, context)
        process = context.get(PROCESS, self._main)
        if process.alive:
            process.ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon

    def call_later(
        self,
        delay: float,
        callback: Callable[[Unpack[Arguments]], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call a function after some virtual seconds."""
        return self.call_at(self._now + max(0.0, delay), callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Arguments]], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call a function at a virtual time."""
        context = copy_context() if context is None else context
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        process = context.get(PROCESS, self._main)
        if process.alive:
            heappush(process.timers, (when, next(self._numbers), handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """asyncio calls this; a cancelled timer is passed over when its time comes."""

    def create_future(self) -> "asyncio.Future[Any]":
        """A future of this loop; RuntimeError if it is closed, so that what is closed with it cannot wait."""
        self._refuse_if_closed()
        return asyncio.Future(loop=self)

    def create_task(
        self, coro: Any, *, name: object = None, context: Context | None = None, **_: object
    ) -> "asyncio.Task[Any]":
        """A task of this loop; RuntimeError if it is closed."""
        if self._closed:
            coro.close()
        self._refuse_if_closed()
        context = copy_context() if context is None else context
        task = _Task(coro, number=next(self._numbers), loop=self, name=name, context=context)
        # Tasks of processes that died are kept: what is collected would clean up.
        self._tasks.append(task)
        if len(self._tasks) >= self._prune_at:
            self._tasks = [one for one in self._tasks if not one.done()]
            self._prune_at = max(FEWEST_PRUNED, 2 * len(self._tasks))
        return task

    def run_in_executor(  # type: ignore[override]  # It returns a future that is done.
        self, executor: Executor | None, func: Callable[..., Any], *args: Any
    ) -> "asyncio.Future[Any]":
        """Call the function at once."""
        del executor
        answer = self.create_future()
        try:
            answer.set_result(func(*args))
        except Exception as problem:  # noqa: BLE001 - whoever awaits it gets it
            answer.set_exception(problem)
        return answer

    def run_until_complete(self, future: Any) -> Any:
        """Run until a future is done; `Stalled` if that can never be."""
        task = asyncio.ensure_future(future, loop=self)
        task.add_done_callback(lambda _: self.stop())
        try:
            self.run_forever()
        except BaseException:
            if task.done() and not task.cancelled():
                task.exception()
            raise
        return task.result()

    def run_forever(self) -> None:
        """Run until `stop` is called."""
        hooks, self._running, self._stopping = get_asyncgen_hooks(), True, False
        events._set_running_loop(self)  # noqa: SLF001 - it is made for event loops
        set_asyncgen_hooks(finalizer=self._close_generator)
        try:
            while not self._stopping:
                self._run_once()
        finally:
            self._running = False
            events._set_running_loop(None)  # noqa: SLF001
            set_asyncgen_hooks(*hooks)

    def stop(self) -> None:
        """Stop when the present round of callbacks is over."""
        self._stopping = True

    def is_running(self) -> bool:
        """Whether it runs now."""
        return self._running

    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    def close(self) -> None:
        """End: whatever still waits is closed where it stands."""
        if self._closed:
            return
        self._closed = True
        before = events._get_running_loop()  # noqa: SLF001 - it is made for event loops
        events._set_running_loop(self)  # noqa: SLF001 - what is closed shall find this loop, not another
        try:
            self._close_tasks()
        finally:
            events._set_running_loop(before)  # noqa: SLF001

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise RuntimeError("Event loop is closed")

    def _close_tasks(self) -> None:
        with catch_warnings():
            simplefilter("ignore", RuntimeWarning)  # What is closed before it began was never awaited.
            while self._tasks:
                task = self._tasks.pop()
                if not task.done():
                    task.close()

    async def shutdown_asyncgens(self) -> None:
        """Do nothing: what waits is closed with the loop."""

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 - asyncio's own
        """Do nothing: there is none."""

    def get_debug(self) -> bool:
        """Never."""
        return False

    def set_debug(self, enabled: bool) -> None:  # noqa: FBT001 - asyncio's own signature
        """Do nothing."""

    def set_exception_handler(self, handler: ExceptionHandler | None) -> None:
        """Call this for exceptions that nothing else catches."""
        self._exception_handler = handler

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Hand an exception to the handler or, without one, raise it where the loop runs."""
        if self._closed:
            return
        if self._exception_handler is not None:
            self._exception_handler(self, context)
            return
        problem = context.get("exception")
        raise problem if isinstance(problem, BaseException) else RuntimeError(context.get("message"))

    def _run_once(self) -> None:
        """One round of one process; if none has anything to do, time moves on."""
        can_run, soonest = list[SimulatedProcess](), NEVER
        for process in self._processes:
            if process.frozen or not process.alive:
                continue
            moment = self._now if process.ready else max(self._now, process.next_timer())
            if moment < soonest:
                can_run, soonest = [], moment
            if moment == soonest:
                can_run.append(process)
        if soonest == NEVER:
            raise Stalled("Every task waits, and no timer is set.")
        self._rounds = self._rounds + 1 if soonest == self._now else 0
        if self._rounds > MOST_ROUNDS:
            raise Stalled(f"Tasks have gone on for {MOST_ROUNDS:,} rounds without waiting.")
        self._now = soonest
        self._run_process(can_run[0] if len(can_run) == 1 else self.random.choice(can_run))

    def _run_process(self, process: SimulatedProcess) -> None:
        """What asyncio does in one round: timers that are due come after what was ready before."""
        while process.next_timer() <= self._now:
            process.ready.append(heappop(process.timers)[2])
        for _ in range(len(process.ready)):
            if process.steps == process.dies_at:
                process.kill()
            if not process.ready or process.frozen:
                return
            handle = process.ready.popleft()
            if not handle.cancelled():
                process.steps += 1
                handle._run()  # noqa: SLF001 - it is made for event loops

    def _close_generator(self, generator: Any) -> None:
        if not self._closed:
            self.call_soon(partial(self.create_task, generator.aclose()))
