"""The application: the table of operations under `/v1`, and public pages beside it."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Lifespan

from cadenza.operations.agents.socket_users import Visiting
from cadenza.operations.application import Application
from cadenza.operations.monitoring.live_changes import LiveChanges
from cadenza.operations.operation import AnyOperation
from cadenza.operations.table import OPERATIONS
from cadenza.surfaces.dashboard.events import Events
from cadenza.surfaces.dashboard.login import Login
from cadenza.surfaces.dashboard.pages import Dashboard
from cadenza.surfaces.http import openapi
from cadenza.surfaces.http import pages as llms
from cadenza.surfaces.http.auth import Gate
from cadenza.surfaces.http.idempotency import HEADER
from cadenza.surfaces.http.metrics import Metrics
from cadenza.surfaces.http.middleware import Front
from cadenza.surfaces.http.pages import Health, Pages
from cadenza.surfaces.http.problems import BAD_REQUEST, KINDS, Refusal, told
from cadenza.surfaces.http.response import of_problem
from cadenza.surfaces.http.routing import OperationRoutes
from cadenza.surfaces.http.service import Service, Take
from cadenza.surfaces.mcp import http as mcp
from cadenza.surfaces.websocket.app import SocketDoor
from cadenza.surfaces.websocket.limits import SocketLimits

A_DAY_S = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """How the application treats its callers."""

    version: str
    take: Take
    """Lets a caller in, or tells in how many seconds to come back."""
    alive: Callable[[], bool] = lambda: True
    """Whether the process goes round."""
    cors_origins: Sequence[str] = ()
    metrics: Metrics = field(default_factory=Metrics)
    sockets: SocketLimits = SocketLimits()


def http_app(
    application: Application, manners: Manners, operations: tuple[AnyOperation, ...] = OPERATIONS
) -> Starlette:
    """The application of an application."""
    gate, live_changes = Gate(application), LiveChanges(application.dependencies)
    service = Service(application, gate=gate, take=manners.take)
    pages = Pages(
        document=partial(openapi.document, operations, manners.version),
        llms=partial(llms.text, operations),
        metrics=manners.metrics,
        health=Health(application.dependencies, manners.alive),
    )
    agents = mcp.mount(application, service.admit, version=manners.version, origins=manners.cors_origins)
    sockets = SocketDoor(Visiting(application), gate=gate, take=manners.take, limits=manners.sockets)
    manners.metrics.count_sockets(sockets.count)
    app = Starlette(
        routes=[
            OperationRoutes(operations, service),
            *pages.routes(),
            *Login(gate).routes(),
            *Events(service, live_changes).routes(),
            *Dashboard().routes(),
            *mcp.routes(agents),
            *sockets.routes(),
        ],
        lifespan=_lifespan(agents.lifespan, sockets.lifespan),
        middleware=[
            Middleware(Front, dependencies=application.dependencies, metrics=manners.metrics),
            *([_cors(manners.cors_origins)] if manners.cors_origins else []),
        ],
        exception_handlers={HTTPException: _refused},
    )
    app.router.redirect_slashes = False
    app.state.hang_up = live_changes.close
    return app


def _lifespan(*spans: Callable[[], AbstractAsyncContextManager[None]]) -> Lifespan[Starlette]:
    """From the start of the application to its end, for everything in it that goes on by itself."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for span in spans:
                await stack.enter_async_context(span())
            yield

    return lifespan


def _cors(origins: Sequence[str]) -> Middleware:
    """Pages of these origins may ask, with a key of their own; cookies mean nothing here."""
    return Middleware(
        CORSMiddleware,
        allow_origins=list(origins),
        allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
        allow_headers=["Authorization", "Content-Type", HEADER, "X-Request-Id", *mcp.HEADERS],
        expose_headers=["X-Request-Id", "Retry-After", "Idempotency-Replayed"],
        max_age=A_DAY_S,
    )


async def _refused(request: Request, problem: Exception) -> Response:
    """What Starlette itself refuses: a path that leads nowhere, a method that a page does not know."""
    assert isinstance(problem, HTTPException)
    kind = next((kind for kind in KINDS if kind.status == problem.status_code), BAD_REQUEST)
    refusal = Refusal(kind, f"{kind.title}: {request.method} {request.url.path}.", problem.headers)
    status, headers, body = of_problem(told(refusal, request.scope["cadenza.request_id"]))
    return Response(body, status, {name.decode(): value.decode() for name, value in headers})
