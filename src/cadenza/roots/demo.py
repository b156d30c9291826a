"""The flash sale, live: a world on a loopback address, its endpoints, and the policies that steer them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta

from aiohttp import web

from cadenza.adapters.cron import CronsimCron
from cadenza.domain.creation import created
from cadenza.domain.endpoint import Endpoint, EndpointKey, evolve
from cadenza.domain.errors import Conflict, Unavailable
from cadenza.domain.steer import Amended
from cadenza.domain.target import HttpTarget
from cadenza.engine.steering import Steering
from cadenza.ports.clock import Clock
from cadenza.ports.log import Logger
from cadenza.ports.store import Store
from cadenza.sim.corrected import TENANT, ToolSteered, new_endpoint
from cadenza.sim.flash_sale.policies import Sale
from cadenza.sim.flash_sale.scenario import flash_sale
from cadenza.sim.scenario import Scenario
from cadenza.sim.steered import FOR_LONG
from cadenza.sim.world import MINUTE_S, MINUTES, START, Measured, Series

HOST = "127.0.0.1"


@dataclass(slots=True)
class Stage:
    """What the policies work with."""

    store: Store
    clock: Clock
    steering: Steering


class FlashSale:
    """Answers requests with the state of a sale that begins anew every forty minutes."""

    def __init__(
        self, *, store: Store, clock: Clock, log: Logger, scenario: Scenario[Sale] | None = None
    ) -> None:
        self._store, self._clock, self._log = store, clock, log
        self._cron = CronsimCron()
        self._scenario = scenario or flash_sale()
        self._series: Series[Sale] = Series()
        self._began = clock.now()
        steering = Steering(store=store, clock=clock, cron=self._cron, log=log)
        stage = Stage(store, clock, steering)
        self._table = {endpoint.name: endpoint for endpoint in self._scenario.endpoints}
        self._steered = {name: ToolSteered(name, self._series, stage=stage) for name in self._table}

    @asynccontextmanager
    async def open(self, port: int) -> AsyncIterator[str]:
        """Serve the world, create its endpoints or point them at it anew; its address."""
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
            for endpoint in self._scenario.endpoints:
                target = HttpTarget(f"http://{address}/{endpoint.name}")
                await self._settle_in(evolve(new_endpoint(endpoint), target=target))
            yield address
        finally:
            await runner.cleanup()

    async def steer(self) -> None:
        """Let the policies plan once a minute, until cancelled."""
        while True:
            for name, policy in self._scenario.policies.items():
                await policy(self._steered[name])
            await self._clock.sleep(MINUTE_S * 1_000)

    async def _settle_in(self, endpoint: Endpoint) -> None:
        planned = created(endpoint, now=self._clock.now(), cron=self._cron, start_now=True)
        try:
            await self._store.add(planned)
        except Conflict:
            await self._store.amend(
                EndpointKey(TENANT, endpoint.id), lambda old: Amended(evolve(old, target=endpoint.target))
            )

    async def _answer(self, request: web.Request) -> web.Response:
        endpoint = self._table.get(request.match_info["name"])
        if endpoint is None:
            raise web.HTTPNotFound
        now = self._clock.now()
        elapsed = (now - self._began) % timedelta(minutes=MINUTES)
        sample = self._scenario.world.sample(START + elapsed)
        self._series.add(endpoint.name, Measured(now, sample))
        minute = elapsed // timedelta(seconds=MINUTE_S)
        phase = self._scenario.world.phase(minute).name
        run_id = request.headers.get("Cadenza-Run-Id")
        self._log.info("run", endpoint=endpoint.name, minute=minute, phase=phase, run_id=run_id)
        if endpoint.rests:
            with suppress(Conflict):
                await self._steered[endpoint.name].pause(FOR_LONG)
        return web.json_response(sample._asdict())
