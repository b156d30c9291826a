"""Responses of the dashboard's own routes, in the form of the API."""

from collections.abc import Awaitable, Callable
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from cadenza.domain.errors import CadenzaError
from cadenza.operations.context import Dependencies
from cadenza.surfaces.http.problems import Refusal, describe_problem
from cadenza.surfaces.http.response import RawResponse, problem_response

Answer = Callable[[Request], Awaitable[RawResponse]]


class SendRaw(Response):
    """A response that is sent as it is."""

    def __init__(self, outgoing: RawResponse) -> None:
        super().__init__()
        self._outgoing = outgoing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's form
        await self._outgoing.send(scope, send)


def error_response(problem: CadenzaError | Refusal, request: Request) -> SendRaw:
    """The response of an error."""
    return SendRaw(problem_response(describe_problem(problem, request.scope["cadenza.request_id"])))


def as_endpoint(answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    """A Starlette endpoint that sends the answer, or the refusal that it raises."""

    async def serve(request: Request) -> Response:
        try:
            return SendRaw(await answer(request))
        except (CadenzaError, Refusal) as problem:
            return error_response(problem, request)

    return serve


def clocks(dependencies: Dependencies) -> dict[str, datetime]:
    """The scheduler's clock and the wall clock, from which the dashboard counts on."""
    return {"now": dependencies.clock.now(), "wall": dependencies.system_now()}
