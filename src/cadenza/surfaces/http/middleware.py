"""The outermost middleware: request ids, response headers, request metrics, unexpected errors."""

from time import perf_counter
from traceback import format_exc

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cadenza.operations.context import Dependencies
from cadenza.surfaces.http.metrics import Metrics
from cadenza.surfaces.http.problems import unexpected
from cadenza.surfaces.http.request import request_id_of
from cadenza.surfaces.http.response import RawHeaders, problem_response, protection

DISCONNECTED = 499
"""The status that is counted when the client has disconnected."""


class RequestMiddleware:
    """Wraps the whole application."""

    def __init__(self, app: ASGIApp, *, dependencies: Dependencies, metrics: Metrics) -> None:
        self._app = app
        self._ids = dependencies.ids
        self._log = dependencies.log
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = perf_counter()
        request_id = scope["cadenza.request_id"] = request_id_of(scope) or self._ids.new()
        sender = _ResponseSender(send, [*protection(scope["path"]), (b"x-request-id", request_id.encode())])
        try:
            await self._app(scope, receive, sender)
        except ClientDisconnect:
            sender.status = sender.status or DISCONNECTED
        except Exception as problem:  # noqa: BLE001 - whatever it is, it must not reach the caller
            self._log_error(scope, problem)
            if not sender.status:
                await problem_response(unexpected(request_id)).send(scope, sender)
        finally:
            self._record(scope, sender.status or DISCONNECTED, perf_counter() - began)

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
    """Sends a response with the headers that every response has, and remembers its status."""

    def __init__(self, send: Send, extra: RawHeaders) -> None:
        self._send = send
        self._extra = extra
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), *self._extra]
        await self._send(message)
