"""What pages of the dashboard's own answer with: an answer of the API, or a refusal in its form."""

from collections.abc import Awaitable, Callable
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from cadenza.domain.errors import CadenzaError
from cadenza.operations.context import Dependencies
from cadenza.surfaces.http.problems import Refusal, told
from cadenza.surfaces.http.response import Outgoing, of_problem

Answer = Callable[[Request], Awaitable[Outgoing]]


class Sent(Response):
    """An answer that goes out as it is."""

    def __init__(self, outgoing: Outgoing) -> None:
        super().__init__()
        self._outgoing = outgoing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's form
        await self._outgoing.leave(scope, send)


def refused(problem: CadenzaError | Refusal, request: Request) -> Sent:
    """The answer of an error."""
    return Sent(of_problem(told(problem, request.scope["cadenza.request_id"])))


def served(answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    """A route of an answer, or of the refusal that it raises."""

    async def serve(request: Request) -> Response:
        try:
            return Sent(await answer(request))
        except (CadenzaError, Refusal) as problem:
            return refused(problem, request)

    return serve


def clocks(dependencies: Dependencies) -> dict[str, datetime]:
    """What the scheduler's clock and the one on the wall show at this moment, to count on from."""
    return {"now": dependencies.clock.now(), "wall": dependencies.wall_now()}
