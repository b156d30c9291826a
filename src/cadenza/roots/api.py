"""`cadenza api`: the HTTP API as a process of its own; `cadenza up` runs it beside the worker."""

import socket
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, closing, contextmanager, nullcontext
from functools import partial
from importlib.metadata import version
from math import ceil

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp

from cadenza.adapters.access.rate_limiter import RequestRateLimiter
from cadenza.adapters.clock import SystemClock
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.domain.errors import Unavailable
from cadenza.engine.async_helpers import Work
from cadenza.engine.supervision import Part, Supervisor
from cadenza.operations.application import Application
from cadenza.roots.clients.choice import url_of
from cadenza.roots.clients.server_record import ServerRecord, published
from cadenza.roots.settings import Settings, read_settings
from cadenza.roots.wiring.application import open_application
from cadenza.roots.wiring.extras import check_extras
from cadenza.roots.wiring.idle import refuse_beside_up
from cadenza.roots.wiring.monitoring import ProcessMonitoring
from cadenza.roots.wiring.process import (
    most_open_files,
    open_log,
    run_event_loop,
    stop_on_signals,
    tune_garbage_collection,
)
from cadenza.roots.wiring.stores import open_store
from cadenza.surfaces.http.app import ApiOptions, http_app
from cadenza.surfaces.http.metrics import Metrics
from cadenza.surfaces.http.middleware import Active
from cadenza.surfaces.http.protocol import ConnectionLimits, HttpProtocol, OpenConnections
from cadenza.surfaces.websocket.limits import SocketLimits
from cadenza.surfaces.websocket.protocol import SocketProtocol

BACKLOG = 2_048
"""Connections that may wait to be accepted."""
FILES_OF_OTHERS = 256
"""Files that connections leave to the database, to requests to targets, and to logs."""
LARGEST_FRAME = 1 << 20
"""A frame above the limit of the settings is answered with an error; one above this closes the socket."""


def launch() -> int:
    """Serve until stopped; the exit code."""
    settings = read_settings()
    refuse_beside_up(settings, "cadenza api")
    check_extras(settings)
    tune_garbage_collection()
    run_event_loop(serve(settings))
    return 0


async def serve(settings: Settings) -> None:
    """Run the API alone until a signal comes."""
    log = open_log(settings)
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        listening = stack.enter_context(listening_socket(settings.host, settings.port))
        settings = with_port(settings, listening)
        store = await stack.enter_async_context(open_store(settings, ids=TimeOrderedIds(), log=log))
        application = await stack.enter_async_context(
            open_application(settings, store=store, clock=clock, log=log, callables=CallableDispatcher())
        )
        monitoring = ProcessMonitoring(settings, store=store, log=log, role="api")
        metrics, supervisor = (
            Metrics(monitoring.registry),
            Supervisor(clock=clock, log=log, telemetry=monitoring.events),
        )
        serving = RestartableApi(
            lambda: ApiServer(settings, http_api(settings, application, metrics=metrics)), listening
        )
        stop_on_signals(supervisor.stop)
        stack.enter_context(published(settings, ServerRecord.of(settings, address_of(listening), clock)))
        log.info("cadenza is up; stop it with Ctrl-C", role="api", api=address_of(listening))
        await supervisor.run(Part("api", serving.run, serving.stop))
        log.info("cadenza has stopped; every request was answered")


def most_connections() -> int:
    """How many connections a process takes."""
    return max(64, most_open_files() - FILES_OF_OTHERS)


def http_api(
    settings: Settings,
    application: Application,
    alive: Callable[[], bool] = lambda: True,
    *,
    metrics: Metrics | None = None,
    active: Active = nullcontext,
) -> Starlette:
    """The HTTP application with the limits of the settings."""
    dependencies = application.dependencies
    rates = RequestRateLimiter(
        dependencies.store.rates,
        dependencies.clock,
        per_minute=settings.rate_per_minute,
        of_tenant_per_minute=settings.tenant_rate_per_minute,
    )
    options = ApiOptions(
        version=version("cadenza"),
        rate_limit=rates.take,
        alive=alive,
        active=active,
        cors_origins=settings.cors_origins,
        metrics=metrics or Metrics(),
        sockets=SocketLimits(
            per_user=settings.sockets_per_user,
            per_tenant=most_connections() * 4 // 5,
            frames_per_s=settings.socket_frames_per_s,
            frame_bytes=settings.socket_frame_bytes,
            grace_s=settings.grace_ms / 1_000,
        ),
    )
    return http_app(application, options)


class ApiServer(uvicorn.Server):
    """uvicorn inside our own event loop, without its signal handlers."""

    def __init__(self, settings: Settings, app: ASGIApp, limits: ConnectionLimits | None = None) -> None:
        shared = OpenConnections(limits or ConnectionLimits(most_connections()))
        self._close_streams: Callable[[], None] = (
            app.state.close_streams if isinstance(app, Starlette) else lambda: None
        )
        super().__init__(
            uvicorn.Config(
                app,
                http=partial(HttpProtocol, shared=shared),  # type: ignore[arg-type]  # It is called, no more.
                ws=SocketProtocol,
                ws_max_size=LARGEST_FRAME,
                ws_ping_interval=settings.socket_ping_ms / 1_000,
                ws_ping_timeout=settings.socket_ping_ms / 1_000,
                ws_per_message_deflate=False,
                lifespan="on",
                log_config=None,
                log_level="error",
                access_log=False,
                server_header=False,
                proxy_headers=bool(settings.trusted_proxies),
                forwarded_allow_ips=list(settings.trusted_proxies),
                timeout_graceful_shutdown=ceil(settings.grace_ms / 1_000),
                backlog=BACKLOG,
            )
        )

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the supervisor, which decides in which order parts stop."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve; Unavailable if the application cannot start."""
        try:
            await super().startup(sockets)
        except SystemExit:
            raise Unavailable("The API could not start.") from None

    def stop(self) -> None:
        """Take no more requests, and answer those in progress; safe to call twice.

        Event streams are closed, since they would never end by themselves.
        """
        self.should_exit = True
        self._close_streams()


class RestartableApi:
    """An API that can be restarted: each run has a new server, and all share one socket."""

    def __init__(self, new_server: Callable[[], ApiServer], listening: socket.socket) -> None:
        self._new_server = new_server
        self._listening = listening
        self._server: ApiServer | None = None

    def run(self) -> Work:
        """Answer until stopped."""
        self._server = self._new_server()
        return self._serve(self._server)

    def stop(self) -> None:
        """Take no more requests, and answer those in progress."""
        if self._server is not None:
            self._server.stop()

    async def _serve(self, server: ApiServer) -> None:
        with closing(self._listening.dup()) as listening:
            try:
                await server.serve([listening])
            finally:
                for accepting in getattr(server, "servers", ()):  # A crash leaves them open.
                    accepting.close()


@contextmanager
def listening_socket(host: str, port: int) -> Iterator[socket.socket]:
    """A listening socket, opened first, so that a port in use is reported before anything else starts."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except (OSError, UnicodeError) as problem:
        why = getattr(problem, "strerror", None) or problem
        message = f"Port {port} of {host} cannot be listened on: {why}. Set CADENZA_PORT or CADENZA_HOST."
        raise Unavailable(message) from None
    with listening:
        yield listening


def with_port(settings: Settings, listening: socket.socket) -> Settings:
    """The settings with the port that is really listened on: HTTP agents call back there, and 0 is any."""
    return settings.model_copy(update={"port": listening.getsockname()[1]})


def address_of(listening: socket.socket) -> str:
    """The URL of the API on this machine."""
    host, port = listening.getsockname()[:2]
    return url_of(host, port)
