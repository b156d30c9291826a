"""Whether a planner lives, and its figures, for whoever watches it over HTTP."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from cadenza.domain.errors import Unavailable
from cadenza.ports.store import Store


class PlannerHealth:
    """Answers `GET /healthz` (does it go round, or wait for its turn?), `/readyz` and `/metrics`."""

    def __init__(self, *, lives: Callable[[], bool], store: Store, registry: CollectorRegistry) -> None:
        self._lives = lives
        self._store = store
        self._registry = registry

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
        lives = self._lives()
        return web.json_response({"status": "ok" if lives else "hangs"}, status=200 if lives else 503)

    async def _readyz(self, request: web.Request) -> web.Response:
        try:
            await self._store.next_due()
        except Unavailable as problem:
            return web.json_response({"status": problem.message}, status=503)
        return await self._healthz(request)

    async def _metrics(self, _: web.Request) -> web.Response:
        figures = generate_latest(self._registry)
        return web.Response(body=figures, headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})
