"""The flash sale, live: a world on a loopback address, its endpoints, and the rules that steer them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta

from aiohttp import web

from cadenza.adapters.cron import CronsimCron
from cadenza.domain.errors import Conflict, InvalidRequest, NotFound, Unavailable
from cadenza.domain.planning.rules.rule import MOST_RULES
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey, Job, evolve
from cadenza.domain.scheduling.steer import ChangedEndpoint, plan_first_run
from cadenza.domain.scheduling.target import HttpTarget
from cadenza.ports.clock import Clock
from cadenza.ports.store import Store
from cadenza.ports.telemetry import Logger
from cadenza.roots.clients.server_record import with_demo_database
from cadenza.roots.settings import SQLITE, Settings
from cadenza.roots.wiring.simulation_planners import sale_rules
from cadenza.roots.wiring.stores import check_url
from cadenza.sim.flash_sale.scenario import NAME, unsteered_sale
from cadenza.sim.product_run import JOB, TENANT, new_endpoint
from cadenza.sim.world import MINUTE_S, MINUTES, START

HOST = "127.0.0.1"


def demo_settings(settings: Settings) -> Settings:
    """The settings of the demo, which has a database file of its own, and touches no other."""
    if not check_url(settings.demo_database_url).startswith(SQLITE):
        raise InvalidRequest("CADENZA_DEMO_DATABASE_URL must be sqlite:///FILE.", "demo_database_url")
    return with_demo_database(settings)


class FlashSale:
    """Answers requests with the state of a sale that begins anew every forty minutes.

    Its endpoints are steered by a file of rules, through the planner that any rules have;
    the planner that learns thinks about them, too, in the shadow.
    """

    def __init__(self, *, store: Store, clock: Clock, log: Logger, jitter_ms: int = 0) -> None:
        self._store, self._clock, self._log = store, clock, log
        self._cron = CronsimCron()
        self._jitter_ms = jitter_ms
        self._scenario = unsteered_sale()
        self._began = clock.now()
        self._table = {endpoint.name: endpoint for endpoint in self._scenario.endpoints}

    @asynccontextmanager
    async def open(self, port: int) -> AsyncIterator[str]:
        """Serve the world, create its endpoints and rules, or point them at it anew; its address."""
        app = web.Application()
        app.router.add_get("/{name}", self._answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, HOST, port).start()
        except OSError:
            await runner.cleanup()
            raise Unavailable(
                f"Port {port} is taken, perhaps by another demo; set CADENZA_DEMO_PORT to a free one."
            ) from None
        address = f"{HOST}:{runner.addresses[0][1]}"
        try:
            await self._create_endpoints(address)
            yield address
        finally:
            await runner.cleanup()
            await self._deactivate()

    async def _create_endpoints(self, address: str) -> None:
        try:
            await self._store.catalog.add_job(Job(id=JOB, name=NAME, tenant_id=TENANT))
        except Conflict:  # It was here before.
            await self._store.catalog.amend_job(TENANT, JOB, lambda job: replace(job, active=True))
        for endpoint in self._scenario.endpoints:
            target = HttpTarget(f"http://{address}/{endpoint.name}")
            await self._add_endpoint(evolve(new_endpoint(endpoint), target=target))
        for rule in sale_rules():
            with suppress(Conflict):  # Whoever has changed a rule may keep it so.
                await self._store.rules.add_rule(rule, most=MOST_RULES)

    async def _deactivate(self) -> None:
        """Nobody answers any more, so nothing of the sale is due until it is opened again."""
        with suppress(NotFound, Unavailable):
            await self._store.catalog.amend_job(TENANT, JOB, lambda job: replace(job, active=False))

    async def _add_endpoint(self, endpoint: Endpoint) -> None:
        planned = plan_first_run(
            endpoint, now=self._clock.now(), cron=self._cron, start_now=True, jitter_ms=self._jitter_ms
        )
        try:
            await self._store.endpoints.add(planned)
        except Conflict:
            await self._store.endpoints.amend(
                EndpointKey(TENANT, endpoint.id),
                lambda old: ChangedEndpoint(evolve(old, target=endpoint.target)),
            )

    async def _answer(self, request: web.Request) -> web.Response:
        endpoint = self._table.get(request.match_info["name"])
        if endpoint is None:
            raise web.HTTPNotFound
        elapsed = (self._clock.now() - self._began) % timedelta(minutes=MINUTES)
        sample = self._scenario.world.sample(START + elapsed)
        minute = elapsed // timedelta(seconds=MINUTE_S)
        phase = self._scenario.world.phase(minute).name
        run_id = request.headers.get("Cadenza-Run-Id")
        self._log.debug("run", endpoint=endpoint.name, minute=minute, phase=phase, run_id=run_id)
        return web.json_response(sample._asdict())
