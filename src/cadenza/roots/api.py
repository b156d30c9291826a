"""The API: one role of many processes on PostgreSQL, or beside the worker in one."""

import asyncio
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, closing, contextmanager
from importlib.metadata import version
from math import ceil

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp

from cadenza.adapters.access.rate_limiter import SharedRates
from cadenza.adapters.clock import SystemClock
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.telemetry.log import StructuredLog
from cadenza.domain.errors import Unavailable
from cadenza.engine.async_helpers import Work
from cadenza.engine.supervision import Part, Supervisor
from cadenza.operations.application import Application
from cadenza.roots.settings import Settings, read_settings
from cadenza.roots.wiring.application import open_application
from cadenza.roots.wiring.event_loop import run_to_end
from cadenza.roots.wiring.monitoring import ProcessMonitoring
from cadenza.roots.wiring.stores import open_store
from cadenza.roots.worker import tune_memory
from cadenza.surfaces.http.app import Manners, http_app
from cadenza.surfaces.http.metrics import Metrics
from cadenza.surfaces.websocket.limits import SocketLimits
from cadenza.surfaces.websocket.protocol import SocketProtocol

WAITING = 2_048
"""So many callers may stand before the door."""
LARGEST_FRAME = 1 << 20
"""A frame above the limit is refused in words; one above this ends its socket."""
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - recognized here, not listened on


def launch() -> int:
    """Serve until stopped; the exit code."""
    tune_memory()
    run_to_end(serve(read_settings()))
    return 0


async def serve(settings: Settings) -> None:
    """Run the API alone until a signal comes."""
    log = a_log(settings)
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        listening = stack.enter_context(bound(settings.host, settings.port))
        store = await stack.enter_async_context(open_store(settings, ids=TimeOrderedIds(), log=log))
        application = await stack.enter_async_context(
            open_application(settings, store=store, clock=clock, log=log, callables=CallableDispatcher())
        )
        monitoring = ProcessMonitoring(settings, store=store, log=log, role="api")
        metrics, supervisor = (
            Metrics(monitoring.registry),
            Supervisor(clock=clock, log=log, telemetry=monitoring.events),
        )
        serving = Serving(lambda: Server(settings, api(settings, application, metrics=metrics)), listening)
        on_signals(supervisor.stop)
        log.info("cadenza is up; stop it with Ctrl-C", role="api", api=address_of(listening))
        await supervisor.run(Part("api", serving.run, serving.stop))
        log.info("cadenza has stopped; every request was answered")


def a_log(settings: Settings) -> StructuredLog:
    """The log that the settings ask for."""
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    return StructuredLog(level=level, as_json=settings.log_json)


def api(
    settings: Settings,
    application: Application,
    lives: Callable[[], bool] = lambda: True,
    *,
    metrics: Metrics | None = None,
) -> Starlette:
    """The application, as the settings want it."""
    dependencies = application.dependencies
    rates = SharedRates(dependencies.store, dependencies.clock, per_minute=settings.rate_per_minute)
    manners = Manners(
        version=version("cadenza"),
        take=rates.take,
        lives=lives,
        cors_origins=settings.cors_origins,
        metrics=metrics or Metrics(),
        sockets=SocketLimits(
            per_user=settings.sockets_per_user,
            frames_per_s=settings.socket_frames_per_s,
            frame_bytes=settings.socket_frame_bytes,
            grace_s=settings.grace_ms / 1_000,
        ),
    )
    return http_app(application, manners)


class Server(uvicorn.Server):
    """Serves an application inside our own event loop, and leaves signals to us."""

    def __init__(self, settings: Settings, app: ASGIApp) -> None:
        self._hang_up: Callable[[], None] = app.state.hang_up if isinstance(app, Starlette) else lambda: None
        super().__init__(
            uvicorn.Config(
                app,
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
                backlog=WAITING,
            )
        )

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Whoever runs this decides in which order things end."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen; an application that cannot start is a problem like any other."""
        try:
            await super().startup(sockets)
        except SystemExit:
            raise Unavailable("The API could not start.") from None

    def stop(self) -> None:
        """Ask it to take no more requests, and to answer those that it has; safe to call twice.

        Who listens to events would never be done.
        """
        self.should_exit = True
        self._hang_up()


class Serving:
    """An API that can begin anew: each server has its own application, and all share one socket."""

    def __init__(self, new_server: Callable[[], Server], listening: socket.socket) -> None:
        self._new_server = new_server
        self._listening = listening
        self._server: Server | None = None

    def run(self) -> Work:
        """Answer until stopped."""
        self._server = self._new_server()
        return self._serve(self._server)

    def stop(self) -> None:
        """Ask it to take no more requests, and to answer those that it has."""
        if self._server is not None:
            self._server.stop()

    async def _serve(self, server: Server) -> None:
        with closing(self._listening.dup()) as listening:
            try:
                await server.serve([listening])
            finally:
                for accepting in getattr(server, "servers", ()):  # A crash leaves them open.
                    accepting.close()


@contextmanager
def bound(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that listens already: a port that is taken is found before anything else is begun."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(WAITING)
    except (OSError, UnicodeError) as problem:
        why = getattr(problem, "strerror", None) or problem
        message = f"Port {port} of {host} cannot be listened on: {why}. Set CADENZA_PORT or CADENZA_HOST."
        raise Unavailable(message) from None
    with listening:
        yield listening


def address_of(listening: socket.socket) -> str:
    """Where the API is, as one would type it on this machine."""
    host, port = listening.getsockname()[:2]
    host = EVERYWHERE.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def on_signals(stop: Callable[[], None]) -> None:
    """SIGTERM and SIGINT ask for a clean end."""
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)
