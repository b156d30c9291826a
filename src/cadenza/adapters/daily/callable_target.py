"""Daily runs of a Python function."""

import asyncio
import inspect
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from datetime import date
from functools import partial
from typing import Any

from cadenza.adapters.dispatch.callables import caught
from cadenza.domain.daily.user import DONE, DailyRunResult
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.job_failure import error_class_of, error_text, traceback_text

Function = Callable[[str, date], Any]
"""Takes a user id and a service date. Raising is a failure; it may return a DailyRunResult."""
CallResult = tuple[object, Exception | None]
"""What a function returned, or the exception it raised."""


class CallableTargetRunner:
    """Calls an async function in the loop, and any other in a thread of its own.

    A thread cannot be stopped: a cancelled run continues there and is awaited, so that
    its slot is not free before it has ended.
    """

    def __init__(self, function: Function) -> None:
        _check_callable(function)
        self._function = function
        self._open: set[asyncio.Future[CallResult]] = set()
        self._awaits = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 - an object may have an async one
        )

    async def run(self, user_id: str, service_date: date, *, tenant_id: str) -> DailyRunResult:  # noqa: ARG002 - Functions are the host's own; they know one tenant.
        """Call it once."""
        call = partial(self._function, user_id, service_date)
        try:
            answer = call() if self._awaits else await self._in_a_thread(call)
            if inspect.isawaitable(answer):  # A plain function around an async one answers with this, too.
                answer = await answer
        except Exception as problem:  # noqa: BLE001 - whatever a function does is its own failure
            return DailyRunResult(error_text(problem), error_class_of(problem), traceback_text(problem))
        return answer if isinstance(answer, DailyRunResult) else DONE

    def close(self) -> None:
        """Stop waiting for threads, as one that does not end must not keep the program running."""
        for ended in self._open:
            _set_result(ended, (None, RuntimeError("it had not ended when the program did")))

    async def _in_a_thread(self, call: Callable[[], object]) -> object:
        ended = _started(call)
        self._open.add(ended)
        try:
            return await _until_ended(ended)
        finally:
            self._open.discard(ended)


def _check_callable(function: Function) -> None:
    """Refuse a function that cannot be called with a user's id and a service date."""
    try:
        inspect.signature(function).bind("user", date.min)
    except ValueError:  # Some built-in functions do not tell.
        return
    except TypeError as problem:
        raise InvalidRequest(
            f"A daily function is called with a user's id and a service date: {problem}.", "function"
        ) from None


def _started(call: Callable[[], object]) -> "asyncio.Future[CallResult]":
    loop, context = asyncio.get_running_loop(), copy_context()
    ended: asyncio.Future[CallResult] = loop.create_future()

    def body() -> None:
        answer = context.run(caught, call)
        with suppress(RuntimeError):  # The loop may be closed by now.
            loop.call_soon_threadsafe(_set_result, ended, answer)

    threading.Thread(target=body, name="daily job", daemon=True).start()
    return ended


def _set_result(ended: "asyncio.Future[CallResult]", answer: CallResult) -> None:
    if not ended.done():
        ended.set_result(answer)


async def _until_ended(ended: "asyncio.Future[CallResult]") -> object:
    while not ended.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(ended)
    answer, problem = ended.result()
    if problem is not None:
        raise problem
    return answer
