"""The outermost middleware: request ids, response headers, request metrics, unexpected errors."""

from asyncio import CancelledError
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from traceback import format_exc

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cadenza.domain.errors import Unavailable
from cadenza.operations.context import Dependencies
from cadenza.surfaces.http.metrics import Metrics
from cadenza.surfaces.http.problems import describe_problem, unexpected
from cadenza.surfaces.http.request import request_id_of
from cadenza.surfaces.http.response import problem_response, protection

Active = Callable[[], AbstractContextManager[object]]
PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
"""Requests of monitoring, which come all the time and change nothing."""
DISCONNECTED = 499
"""The status that is counted when the client has disconnected."""
ENDING = Unavailable("This server is ending, and could not wait for the answer; send the request again.")


class RequestMiddleware:
    """Wraps the whole application."""

    def __init__(
        self, app: ASGIApp, *, dependencies: Dependencies, metrics: Metrics, active: Active = nullcontext
    ) -> None:
        self._app = app
        self._active = active
        self._ids = dependencies.ids
        self._log = dependencies.log
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; it is worked on until its response begins, as a stream may never end."""
        if scope["type"] != "http":
            await self._app(scope, self._noted(receive), send)
            return
        began = perf_counter()
        scope["cadenza.request_id"] = request_id_of(scope) or self._ids.new()
        activity = None if scope["path"] in PROBES else self._active()
        sender = _ResponseSender(send, scope, activity)
        try:
            with sender:
                await self._serve(scope, receive, sender)
        finally:
            self._record(scope, sender.status or DISCONNECTED, perf_counter() - began)

    async def _serve(self, scope: Scope, receive: Receive, sender: "_ResponseSender") -> None:
        """Serve one request, and answer for what went wrong if nothing was answered yet."""
        try:
            await self._app(scope, receive, sender.send)
        except ClientDisconnect:
            pass
        except CancelledError:  # The grace for requests in progress is over, and the process ends.
            if not sender.status:
                await problem_response(describe_problem(ENDING, sender.request_id)).send(scope, sender.send)
        except Exception as problem:  # noqa: BLE001 - whatever it is, it must not reach the caller
            self._log_error(scope, problem)
            if not sender.status:
                await problem_response(unexpected(sender.request_id)).send(scope, sender.send)

    def _noted(self, receive: Receive) -> Receive:
        """What a socket receives, noted as activity; who leaves asks for nothing."""

        async def noted() -> Message:
            message = await receive()
            if message["type"] != "websocket.disconnect":
                with self._active():
                    pass
            return message

        return noted

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        name = scope.get("cadenza.operation", "page")
        self._metrics.note(name, status, seconds)
        if self._log.verbose:
            request_id = scope["cadenza.request_id"]
            self._log.debug("request", operation=name, status=status, request_id=request_id)

    def _log_error(self, scope: Scope, problem: Exception) -> None:
        self._log.warning(
            "a request failed unexpectedly",
            request_id=scope["cadenza.request_id"],
            operation=scope.get("cadenza.operation", "page"),
            error=type(problem).__name__,
            trace=format_exc(),
        )


class _ResponseSender:
    """Sends a response with the headers that every response has, and remembers its status.

    Entered, it lets the activity of the request last until the response begins, or it is left.
    """

    __slots__ = ("_activity", "_path", "_send", "request_id", "status")

    def __init__(self, send: Send, scope: Scope, activity: AbstractContextManager[object] | None) -> None:
        self._send = send
        self._path: str = scope["path"]
        self._activity = activity
        self.request_id: str = scope["cadenza.request_id"]
        self.status = 0

    def __enter__(self) -> None:
        if self._activity is not None:
            self._activity.__enter__()

    def __exit__(self, *_: object) -> None:
        activity, self._activity = self._activity, None
        if activity is not None:
            activity.__exit__(None, None, None)

    async def send(self, message: Message) -> None:
        """Send a part of it."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.__exit__()
            named = (b"x-request-id", self.request_id.encode())
            message["headers"] = [*message.get("headers", ()), *protection(self._path), named]
        await self._send(message)
