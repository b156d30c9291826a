"""Everything in one process, on one file; and a worker alone."""

import asyncio
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from socket import socket

from prometheus_client import CollectorRegistry

from cadenza.adapters.callables import CallableDispatcher
from cadenza.adapters.clock import FastClock, SystemClock
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.planner_metrics import PlannerMetrics
from cadenza.adapters.telemetry import RunBell
from cadenza.domain.errors import InvalidRequest
from cadenza.engine.loop import Loop
from cadenza.engine.upkeep import Upkeep
from cadenza.engine.waiting import first_of
from cadenza.ports.clock import Clock
from cadenza.ports.store import Retention, Store
from cadenza.roots.api import Server, a_log, address_of, api, bound, on_signals
from cadenza.roots.bootstrap import first_key, show
from cadenza.roots.demo import FlashSale
from cadenza.roots.health import HANGS_AFTER, Health
from cadenza.roots.loops import run_to_end
from cadenza.roots.office import open_office
from cadenza.roots.planner import Study, Thinker
from cadenza.roots.settings import Settings, read_settings
from cadenza.roots.stores import open_store
from cadenza.roots.worker import Workshop, tune_memory, worker
from cadenza.sim.corrected import TENANT

FASTEST = 1_000


def launch(*, demo: bool, speed: float) -> int:
    """Serve until stopped; the exit code."""
    if not 0 < speed <= FASTEST:
        raise InvalidRequest(f"--speed must be above 0 and at most {FASTEST}.", "speed")
    tune_memory()
    run_to_end(serve(read_settings(), demo=demo, speed=speed))
    return 0


def launch_worker() -> int:
    """Work until stopped; the exit code."""
    tune_memory()
    run_to_end(work(read_settings()))
    return 0


def retention(settings: Settings) -> Retention:
    """How long the settings want runs to be kept."""
    days = settings.keep_runs_days
    return Retention(None if days is None else timedelta(days=days), settings.keep_runs_count)


async def reached(store: Store) -> datetime:
    """How far time has come in a store that a fast clock ran before: it must not start in its past."""
    runs = [endpoint.last_run_at for endpoint in await store.find(TENANT) if endpoint.last_run_at]
    return max([SystemClock().now(), *runs])


async def serve(settings: Settings, *, demo: bool, speed: float) -> None:
    """Run the API and a worker, and the demo beside them if wanted, until a signal comes."""
    log = a_log(settings)
    async with AsyncExitStack() as stack:
        listening = stack.enter_context(bound(settings.host, settings.port))
        store = await stack.enter_async_context(open_store(settings, ids=TimeOrderedIds(), log=log))
        clock: Clock = SystemClock() if speed == 1 else FastClock(speed, await reached(store))
        registry, bell = CollectorRegistry(), RunBell()
        shop = Workshop(store=store, clock=clock, log=log, callables=CallableDispatcher(), telemetry=bell)
        sale = None
        if demo:
            sale = FlashSale(store=store, clock=clock, log=log)
            address = await stack.enter_async_context(sale.open(settings.demo_port))
            settings = settings.model_copy(update={"allow_targets": (*settings.allow_targets, address)})
        loop = await _open_worker(stack, settings, shop)
        server = await _open_api(
            stack, settings, shop=shop, loop=loop, listening=listening, registry=registry
        )
        on_signals(server.stop)
        log.info("cadenza is up; stop it with Ctrl-C", api=address_of(listening), demo=demo, speed=speed)
        beside = [sale.steer()] if sale is not None else []
        if settings.planner:
            beside.append(Thinker(settings, Study(store, clock, log, PlannerMetrics(registry), bell)).run())
        await first_of(
            loop.run(), _answer(server, listening, loop=loop), upkeep(settings, shop).run(), *beside
        )
        log.info("cadenza has stopped; everything that ended is settled")


async def work(settings: Settings) -> None:
    """Run a worker alone until a signal comes."""
    log = a_log(settings)
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(settings, ids=TimeOrderedIds(), log=log))
        shop = Workshop(store=store, clock=SystemClock(), log=log, callables=CallableDispatcher())
        loop = await _open_worker(stack, settings, shop)
        on_signals(loop.stop)
        log.info("cadenza is up; stop it with Ctrl-C", role="worker")
        await first_of(loop.run(), upkeep(settings, shop).run())
        log.info("cadenza has stopped; everything that ended is settled")


def upkeep(settings: Settings, shop: Workshop) -> Upkeep:
    """What forgets, by the clock on the wall also where another one runs faster."""
    return Upkeep(store=shop.store, clock=SystemClock(), log=shop.log, retention=retention(settings))


async def _open_worker(stack: AsyncExitStack, settings: Settings, shop: Workshop) -> Loop:
    loop = await stack.enter_async_context(worker(settings, shop))
    if settings.health_port is not None:
        health = Health(loop=loop, store=shop.store, clock=shop.clock)
        port = await stack.enter_async_context(health.serve(settings.host, settings.health_port))
        shop.log.info("health is told", address=f"{settings.host}:{port}")
    return loop


async def _open_api(
    stack: AsyncExitStack,
    settings: Settings,
    *,
    shop: Workshop,
    loop: Loop,
    listening: socket,
    registry: CollectorRegistry,
) -> Server:
    """The API on a worker's store; on the first start it shows a key."""
    opening = open_office(
        settings, store=shop.store, clock=shop.clock, log=shop.log, callables=shop.callables
    )
    office = await stack.enter_async_context(opening)
    key = await first_key(office)
    if key is not None:
        show(address_of(listening), key)

    def lives() -> bool:
        return shop.clock.now() - loop.alive_at < HANGS_AFTER

    return Server(settings, api(settings, office, lives, registry=registry))


async def _answer(server: Server, listening: socket, *, loop: Loop) -> None:
    """Answer until a signal comes; the worker is stopped when the last request has its answer."""
    await server.serve([listening])
    loop.stop()
    await asyncio.get_running_loop().create_future()
