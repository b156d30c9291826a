"""Runs Python functions that were registered by name."""

import asyncio
import inspect
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any, NamedTuple

import orjson

from cadenza.domain.errors import Conflict, InvalidRequest
from cadenza.domain.job_failure import error_class_of, error_text, traceback_text
from cadenza.domain.json_values import Json
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.domain.scheduling.target import CallableTarget

Function = Callable[..., Any]
LARGEST_RESPONSE = 16_384
DEFAULT_THREADS = 16
SUCCESS, FAILURE = RunStatus.SUCCESS, RunStatus.FAILURE  # Python 3.11 is slow to find members.
RUN_NAMES = ("run", "context", "")
"""How functions call the run, if they do not annotate it; underscores do not count."""
OPTIONAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class RegisteredFunction(NamedTuple):
    """A function, and how it is called."""

    function: Function
    is_async: bool
    wants_context: bool


class CallableDispatcher:
    """Calls async functions in the loop, and others in threads.

    A thread cannot be stopped. A function that exceeds its timeout keeps its thread
    until it returns. Meanwhile its endpoint's next run fails and says why; when such
    functions hold every thread, so does every other run that needs one. Threads do not
    keep the program from ending.
    """

    def __init__(
        self, *, threads: int = DEFAULT_THREADS, context: Callable[[Claim], object] = lambda claim: claim
    ) -> None:
        self._functions: dict[str, RegisteredFunction] = {}
        self._context = context
        self._threads = FunctionThreads(threads)

    def register(self, name: str, function: Function) -> None:
        """Register a function; it takes no argument, or the run's context."""
        if name in self._functions:
            raise Conflict(f"A function is already registered as {name!r}.")
        self._functions[name] = _inspected(name, function)

    @property
    def names(self) -> list[str]:
        """The names under which functions are registered."""
        return list(self._functions)

    async def execute(self, claim: Claim) -> Outcome:
        """Call the function once; what it raises is a failure."""
        target = claim.endpoint.target
        assert isinstance(target, CallableTarget), "only callable targets come here"
        registered = self._functions.get(target.function)
        if registered is None:
            return Outcome(FAILURE, error=f"no function is registered as {target.function!r}")
        began = monotonic()
        outcome = await self._call(claim, registered)
        return outcome._replace(duration_ms=max(0, round((monotonic() - began) * 1_000)))

    async def _call(self, claim: Claim, registered: RegisteredFunction) -> Outcome:
        try:
            return Outcome(SUCCESS, response=as_response(await self._result(claim, registered)))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return Outcome(FAILURE, error="CancelledError: the function cancelled itself")
        except NoFreeThread as problem:
            return Outcome(FAILURE, error=str(problem))
        except (Exception, SystemExit) as problem:  # noqa: BLE001 - what a function raises is its run's failure
            return Outcome(
                FAILURE,
                error=error_text(problem),
                error_class=error_class_of(problem),
                traceback=traceback_text(problem),
            )

    async def _result(self, claim: Claim, registered: RegisteredFunction) -> object:
        function, is_async, wants_context = registered
        arguments = (self._context(claim),) if wants_context else ()
        if is_async:
            result = function(*arguments)
        else:
            result = await self._threads.run(claim.key, partial(function, *arguments))
        return await result if inspect.isawaitable(result) else result


class NoFreeThread(Exception):
    """Raised when no thread is free, because functions have exceeded their timeouts."""


@dataclass(slots=True, eq=False)
class _Call:
    """A function that runs in a thread."""

    ended: asyncio.Future[tuple[object, Exception | None]]
    overdue: bool = False
    """Whether its run has timed out."""


class FunctionThreads:
    """A bounded number of threads; one is free again when its function has returned."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._free = asyncio.Semaphore(threads)
        self._calls: dict[EndpointKey, _Call] = {}

    async def run(self, key: EndpointKey, function: Callable[[], object]) -> object:
        """The function's result; if its run times out before a thread is free, it is never called."""
        self._check_free(key)
        await self._free.acquire()
        try:
            self._check_free(key)
            call = self._start(key, function)
        except BaseException:
            self._free.release()
            raise
        try:
            result, problem = await call.ended
        except asyncio.CancelledError:
            call.overdue = True
            raise
        if problem is not None:
            raise problem
        return result

    def _check_free(self, key: EndpointKey) -> None:
        if key in self._calls:
            raise NoFreeThread("its last run has outlived its timeout and has not ended yet")
        if sum(call.overdue for call in self._calls.values()) >= self._threads:
            raise NoFreeThread(
                f"all {self._threads} threads are held by functions that outlived their timeouts"
            )

    def _start(self, key: EndpointKey, function: Callable[[], object]) -> _Call:
        loop = asyncio.get_running_loop()
        call, context = _Call(loop.create_future()), copy_context()

        def ended(result: tuple[object, Exception | None]) -> None:
            del self._calls[key]
            self._free.release()
            if not call.ended.done():
                call.ended.set_result(result)

        def body() -> None:
            result = context.run(caught, function)
            with suppress(RuntimeError):  # The loop may be closed by now.
                loop.call_soon_threadsafe(ended, result)

        threading.Thread(target=body, name=f"callable {key.id}", daemon=True).start()
        self._calls[key] = call
        return call


def caught(function: Callable[[], object]) -> tuple[object, Exception | None]:
    """What a function returns or raises, whatever that is."""
    try:
        return function(), None
    except Exception as problem:  # noqa: BLE001 - it is raised again where it is waited for
        return None, problem
    except BaseException as problem:  # noqa: BLE001 - a function that would end its thread has failed
        return None, RuntimeError(f"{type(problem).__name__}: {problem}")


def _inspected(name: str, function: Function) -> RegisteredFunction:
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object may have an async one
    )
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidRequest(f"{name!r} is a generator: calling it runs nothing.", "function")
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # Some built-in functions do not tell.
        return RegisteredFunction(function, is_async, wants_context=False)
    wants_context = bool(parameters) and _is_run(parameters[0])
    others = parameters[1:] if wants_context else parameters
    for one in others:
        if one.default is one.empty and one.kind not in OPTIONAL:
            raise InvalidRequest(
                f"{name!r} cannot be called: nothing gives it {one.name!r}. A function takes no argument,"
                " or its run: one that is named run, or annotated as RunContext.",
                "function",
            )
    return RegisteredFunction(function, is_async, wants_context)


def _is_run(parameter: inspect.Parameter) -> bool:
    """Whether a function's first parameter is the run."""
    if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
        return False
    annotation = getattr(parameter.annotation, "__name__", str(parameter.annotation))
    return parameter.name.strip("_") in RUN_NAMES or "RunContext" in annotation


def as_response(value: object) -> Json:
    """What is recorded of a result: itself, if it is JSON within the size limit."""
    if value is None:
        return None
    try:
        encoded = orjson.dumps(value)
    except TypeError:
        return {"unrecorded": f"a {type(value).__name__} that is not JSON"}
    if len(encoded) > LARGEST_RESPONSE:
        return {"unrecorded": f"{len(encoded)} bytes, where {LARGEST_RESPONSE} are kept"}
    response: Json = orjson.loads(encoded.replace(b"\\u0000", b"\\ufffd"))  # PostgreSQL takes no NUL.
    return response
