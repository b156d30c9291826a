"""What every request meets first: its id, the headers of its answer, its count, and the net for bugs."""

from time import perf_counter
from traceback import format_exc

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cadenza.operations.context import Dependencies
from cadenza.surfaces.http.headers import Raw, protection, wanted_request_id
from cadenza.surfaces.http.metrics import Metrics
from cadenza.surfaces.http.problems import unexpected
from cadenza.surfaces.http.response import of_problem

GONE = 499
"""What is counted when the caller did not wait."""


class Front:
    """Around everything else."""

    def __init__(self, app: ASGIApp, *, dependencies: Dependencies, metrics: Metrics) -> None:
        self._app = app
        self._ids = dependencies.ids
        self._log = dependencies.log
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and its answer back."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = perf_counter()
        request_id = scope["cadenza.request_id"] = wanted_request_id(scope) or self._ids.new()
        way_back = _WayBack(send, [*protection(scope["path"]), (b"x-request-id", request_id.encode())])
        try:
            await self._app(scope, receive, way_back)
        except ClientDisconnect:
            way_back.status = way_back.status or GONE
        except Exception as problem:  # noqa: BLE001 - whatever it is, it must not reach the caller
            self._tell(scope, problem)
            if not way_back.status:
                await of_problem(unexpected(request_id)).leave(scope, way_back)
        finally:
            self._note(scope, way_back.status or GONE, perf_counter() - began)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        name = scope.get("cadenza.operation", "page")
        self._metrics.note(name, status, seconds)
        if self._log.verbose:
            request_id = scope["cadenza.request_id"]
            self._log.debug("request", operation=name, status=status, request_id=request_id)

    def _tell(self, scope: Scope, problem: Exception) -> None:
        self._log.warning(
            "a request failed unexpectedly",
            request_id=scope["cadenza.request_id"],
            operation=scope.get("cadenza.operation", "page"),
            error=type(problem).__name__,
            trace=format_exc(),
        )


class _WayBack:
    """Takes an answer to the caller, with the headers that every answer has."""

    def __init__(self, send: Send, extra: Raw) -> None:
        self._send = send
        self._extra = extra
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), *self._extra]
        await self._send(message)
