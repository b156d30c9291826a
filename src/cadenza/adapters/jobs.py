"""Daily jobs that are Python functions."""

import asyncio
import inspect
import json
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import copy_context
from datetime import date
from functools import partial
from typing import Any

from cadenza.adapters.callables import described
from cadenza.domain.daily import DONE, ErrorClass, JobFailed, JobResult

Function = Callable[[str, date], Any]
"""Takes a user's id and a service date. What it raises is a failure; a JobResult says more than nothing."""
KINDS: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], ErrorClass], ...] = (
    ((json.JSONDecodeError, UnicodeError), ErrorClass.PARSE),
    ((OSError, TimeoutError), ErrorClass.REQ),
)


class CallableJobs:
    """Calls an async function in the loop, and any other in a thread of its own.

    A thread cannot be stopped: a job that is cancelled there goes on, and is waited
    for, so that no slot is free before its job has ended.
    """

    def __init__(self, function: Function) -> None:
        self._function = function
        self._awaits = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 - an object may have an async one
        )

    async def run(self, user_id: str, service_date: date, *, tenant_id: str) -> JobResult:  # noqa: ARG002 - Functions are the host's own; they know one tenant.
        """Call it once."""
        call = partial(self._function, user_id, service_date)
        try:
            answer = await (call() if self._awaits else _in_a_thread(call))
        except Exception as problem:  # noqa: BLE001 - whatever a function does is its own failure
            return JobResult(described(problem), error_class_of(problem))
        return answer if isinstance(answer, JobResult) else DONE


def error_class_of(problem: BaseException) -> ErrorClass:
    """What kind of thing went wrong, as far as an exception tells."""
    if isinstance(problem, JobFailed):
        return problem.error_class
    return next((word for kinds, word in KINDS if isinstance(problem, kinds)), ErrorClass.UNKNOWN)


def _in_a_thread(call: Callable[[], Any]) -> Awaitable[Any]:
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[tuple[Any, Exception | None]] = loop.create_future()
    context = copy_context()

    def body() -> None:
        answer = context.run(_caught, call)
        with suppress(RuntimeError):  # The loop may be closed by now, and nobody waits any more.
            loop.call_soon_threadsafe(ended.set_result, answer)

    threading.Thread(target=body, name="daily job", daemon=True).start()
    return _until_ended(ended)


async def _until_ended(ended: "asyncio.Future[tuple[Any, Exception | None]]") -> Any:
    while not ended.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(ended)
    answer, problem = ended.result()
    if problem is not None:
        raise problem
    return answer


def _caught(call: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return call(), None
    except Exception as problem:  # noqa: BLE001 - it is raised again where it is waited for
        return None, problem
    except BaseException as problem:  # noqa: BLE001 - a function that would end its thread has failed
        return None, RuntimeError(f"{type(problem).__name__}: {problem}")
