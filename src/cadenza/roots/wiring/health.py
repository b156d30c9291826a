"""Liveness, readiness and metrics of a process over HTTP."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta
from typing import Any, Protocol

from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from cadenza.domain.errors import Unavailable
from cadenza.domain.validation import iso
from cadenza.ports.clock import Clock
from cadenza.ports.monitoring import StoreHealth
from cadenza.ports.telemetry import Logger
from cadenza.roots.settings import Settings

HANGS_AFTER = timedelta(seconds=60)


class LoopStatus(Protocol):
    """What health needs to know of a worker or its loop."""

    @property
    def alive_at(self) -> datetime:
        """When it last made progress."""
        ...

    @property
    def in_flight(self) -> int:
        """How many claims it holds."""
        ...


class HealthServer:
    """Answers `GET /healthz` (does it progress?), `/readyz` (and can it store?) and `/metrics`."""

    def __init__(
        self,
        *,
        alive: Callable[[], bool],
        store: StoreHealth,
        registry: CollectorRegistry,
        facts: Callable[[], dict[str, Any]] = dict,
    ) -> None:
        self._alive = alive
        self._store = store
        self._registry = registry
        self._facts = facts

    @classmethod
    def for_worker(
        cls, worker: LoopStatus, *, store: StoreHealth, clock: Clock, registry: CollectorRegistry
    ) -> "HealthServer":
        """The health of a worker, with its claims in flight."""
        return cls(
            alive=lambda: is_alive(worker, clock),
            store=store,
            registry=registry,
            facts=lambda: {"in_flight": worker.in_flight, "alive_at": iso(worker.alive_at)},
        )

    @asynccontextmanager
    async def serve(self, host: str, port: int) -> AsyncIterator[int]:
        """Serve; the port that is listened on, also if 0 was asked for."""
        app = web.Application()
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/metrics", self._metrics)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        try:
            try:
                await web.TCPSite(runner, host, port).start()
            except OSError as problem:
                raise Unavailable(f"Port {port} cannot be listened on: {problem.strerror}.") from None
            yield runner.addresses[0][1]
        finally:
            await runner.cleanup()

    async def _healthz(self, _: web.Request) -> web.Response:
        alive = self._alive()
        return self._answer("ok" if alive else "hangs", ok=alive)

    async def _readyz(self, request: web.Request) -> web.Response:
        try:
            await self._store.check()
        except Unavailable as problem:
            return self._answer(problem.message, ok=False)
        return await self._healthz(request)

    async def _metrics(self, _: web.Request) -> web.Response:
        metrics = generate_latest(self._registry)
        return web.Response(body=metrics, headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})

    def _answer(self, status: str, *, ok: bool) -> web.Response:
        return web.json_response({"status": status, **self._facts()}, status=200 if ok else 503)


def is_alive(worker: LoopStatus, clock: Clock) -> bool:
    """Whether a worker has made progress lately."""
    return clock.now() - worker.alive_at < HANGS_AFTER


async def serve_health(
    stack: AsyncExitStack, settings: Settings, *, health: HealthServer, log: Logger
) -> None:
    """Serve health until the stack closes, if the settings name a port."""
    if settings.health_port is None:
        return
    port = await stack.enter_async_context(health.serve(settings.host, settings.health_port))
    log.info("health endpoint is listening", address=f"{settings.host}:{port}")
