"""The ASGI application: operations under `/v1`, dashboard, MCP, sockets and public pages."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial

from anyio.lowlevel import checkpoint
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Lifespan

from cadenza.operations.agents.socket_users import SocketUsers
from cadenza.operations.application import Application
from cadenza.operations.monitoring.live_changes import LiveChanges
from cadenza.operations.operation import RANK_HEADER, AnyOperation
from cadenza.operations.table import OPERATIONS
from cadenza.surfaces.dashboard.events import Events
from cadenza.surfaces.dashboard.login import Login
from cadenza.surfaces.dashboard.pages import Dashboard
from cadenza.surfaces.http.auth import Authenticator
from cadenza.surfaces.http.documents import openapi
from cadenza.surfaces.http.heartbeats import Heartbeats
from cadenza.surfaces.http.idempotency import HEADER
from cadenza.surfaces.http.metrics import Metrics
from cadenza.surfaces.http.middleware import Active, RequestMiddleware
from cadenza.surfaces.http.pages import Health, Pages, llms_text, not_found_page, wants_a_page
from cadenza.surfaces.http.problems import BAD_REQUEST, KINDS, NOT_FOUND, Refusal, describe_problem
from cadenza.surfaces.http.response import problem_response
from cadenza.surfaces.http.routing import OperationRouter
from cadenza.surfaces.http.service import RateLimit, Service
from cadenza.surfaces.mcp import http as mcp
from cadenza.surfaces.websocket.app import SocketApp
from cadenza.surfaces.websocket.limits import SocketLimits

A_DAY_S = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiOptions:
    """Options of the HTTP application."""

    version: str
    rate_limit: RateLimit
    """Counts a caller's requests."""
    alive: Callable[[], bool] = lambda: True
    """Whether the process is alive."""
    active: Active = nullcontext
    """Entered for as long as a request is worked on."""
    cors_origins: Sequence[str] = ()
    metrics: Metrics = field(default_factory=Metrics)
    sockets: SocketLimits = SocketLimits()


def http_app(
    application: Application, options: ApiOptions, operations: tuple[AnyOperation, ...] = OPERATIONS
) -> Starlette:
    """The HTTP application that serves an application's operations."""
    authenticator, live_changes = Authenticator(application), LiveChanges(application.dependencies)
    service = Service(application, authenticator=authenticator, rate_limit=options.rate_limit)
    pages = Pages(
        document=partial(openapi.document, operations, options.version),
        llms=partial(llms_text, operations),
        metrics=options.metrics,
        health=Health(application.dependencies, options.alive),
    )
    agents = mcp.mount(application, service.admit, version=options.version, origins=options.cors_origins)
    sockets = SocketApp(
        SocketUsers(application),
        authenticator=authenticator,
        rate_limit=options.rate_limit,
        limits=options.sockets,
    )
    options.metrics.count_sockets(sockets.count)
    app = HttpApp(
        routes=[
            *pages.routes(),
            *Login(authenticator).routes(),
            *Heartbeats(authenticator, options.rate_limit).routes(),
            *Events(service, live_changes).routes(),
            *Dashboard().routes(),
            *mcp.routes(agents),
            *sockets.routes(),
        ],
        lifespan=_lifespan(agents.lifespan, sockets.lifespan),
        middleware=[
            Middleware(
                RequestMiddleware,
                dependencies=application.dependencies,
                metrics=options.metrics,
                active=options.active,
            ),
            *([_cors(options.cors_origins)] if options.cors_origins else []),
            Middleware(OperationRouter, operations=operations, service=service),
        ],
        exception_handlers={HTTPException: _refused},
    )
    app.router.redirect_slashes = False
    app.state.close_streams = live_changes.close
    return app


class HttpApp(Starlette):
    """Starlette without the layer that answers unexpected errors: `RequestMiddleware` does, for all."""

    def build_middleware_stack(self) -> ASGIApp:
        """The layers from the outermost to the routes."""
        app: ASGIApp = ExceptionMiddleware(self.router, handlers=self.exception_handlers)
        for layer, arguments, options in reversed(self.user_middleware):
            app = layer(app, *arguments, **options)
        return app


def _lifespan(*spans: Callable[[], AbstractAsyncContextManager[None]]) -> Lifespan[Starlette]:
    """Run all background work from the start of the application to its end."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await checkpoint()  # It loads the library that serves files now, and not during the first request.
        async with AsyncExitStack() as stack:
            for span in spans:
                await stack.enter_async_context(span())
            yield

    return lifespan


def _cors(origins: Sequence[str]) -> Middleware:
    """Pages of these origins may send requests with a key of their own; cookies are not allowed."""
    return Middleware(
        CORSMiddleware,
        allow_origins=list(origins),
        allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
        allow_headers=["Authorization", "Content-Type", HEADER, RANK_HEADER, "X-Request-Id", *mcp.HEADERS],
        expose_headers=["X-Request-Id", "Retry-After", "Idempotency-Replayed"],
        max_age=A_DAY_S,
    )


async def _refused(request: Request, problem: Exception) -> Response:
    """The problem of what Starlette itself refuses: unknown paths and methods; a page for browsers."""
    assert isinstance(problem, HTTPException)
    if problem.status_code == NOT_FOUND.status and wants_a_page(request):
        return not_found_page(request)
    kind = next((kind for kind in KINDS if kind.status == problem.status_code), BAD_REQUEST)
    refusal = Refusal(kind, f"{kind.title}: {request.method} {request.url.path}.", problem.headers)
    status, headers, body = problem_response(describe_problem(refusal, request.scope["cadenza.request_id"]))
    return Response(body, status, {name.decode(): value.decode() for name, value in headers})
