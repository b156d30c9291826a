"""Whether a worker lives, and whether it can work, for whoever watches it over HTTP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from cadenza.domain.checks import iso
from cadenza.domain.errors import Unavailable
from cadenza.engine.loop import Loop
from cadenza.ports.clock import Clock
from cadenza.ports.store import Store
from cadenza.roots.worker import Worker

HANGS_AFTER = timedelta(seconds=60)


class Health:
    """Answers `GET /healthz` (does it go round?), `/readyz` (does its store answer, too?) and `/metrics`."""

    def __init__(
        self, *, loop: Loop | Worker, store: Store, clock: Clock, registry: CollectorRegistry | None = None
    ) -> None:
        self._loop = loop
        self._store = store
        self._clock = clock
        self._registry = registry or CollectorRegistry()

    @asynccontextmanager
    async def serve(self, host: str, port: int) -> AsyncIterator[int]:
        """Listen; the port, also if any was to be taken."""
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
        lives = self._clock.now() - self._loop.alive_at < HANGS_AFTER
        return self._answer("ok" if lives else "hangs", ok=lives)

    async def _readyz(self, request: web.Request) -> web.Response:
        try:
            await self._store.next_due()
        except Unavailable as problem:
            return self._answer(problem.message, ok=False)
        return await self._healthz(request)

    async def _metrics(self, _: web.Request) -> web.Response:
        figures = generate_latest(self._registry)
        return web.Response(body=figures, headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})

    def _answer(self, status: str, *, ok: bool) -> web.Response:
        facts = {"status": status, "in_flight": self._loop.in_flight, "alive_at": iso(self._loop.alive_at)}
        return web.json_response(facts, status=200 if ok else 503)
