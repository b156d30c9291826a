"""Everything in one process, on one file."""

import asyncio
import logging
from contextlib import AsyncExitStack
from datetime import datetime, timedelta

from cadenza.adapters.callables import CallableDispatcher
from cadenza.adapters.clock import FastClock, SystemClock
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.log import StructuredLog
from cadenza.domain.errors import InvalidRequest
from cadenza.engine.upkeep import Upkeep
from cadenza.engine.waiting import first_of
from cadenza.ports.clock import Clock
from cadenza.ports.store import Retention, Store
from cadenza.roots.demo import FlashSale
from cadenza.roots.health import Health
from cadenza.roots.settings import Settings, read_settings
from cadenza.roots.stores import open_store
from cadenza.roots.worker import Workshop, stop_on_signals, tune_memory, worker
from cadenza.sim.corrected import TENANT

FASTEST = 1_000


def launch(*, demo: bool, speed: float) -> int:
    """Serve until stopped; the exit code."""
    if not 0 < speed <= FASTEST:
        raise InvalidRequest(f"--speed must be above 0 and at most {FASTEST}.", "speed")
    tune_memory()
    asyncio.run(serve(read_settings(), demo=demo, speed=speed))
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
    """Run a worker, and the demo beside it if wanted, until a signal comes."""
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    log = StructuredLog(level=level, as_json=settings.log_json)
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(settings, ids=TimeOrderedIds(), log=log))
        clock: Clock = SystemClock() if speed == 1 else FastClock(speed, await reached(store))
        shop = Workshop(store=store, clock=clock, log=log, callables=CallableDispatcher())
        sale = None
        if demo:
            sale = FlashSale(store=store, clock=clock, log=log)
            address = await stack.enter_async_context(sale.open(settings.demo_port))
            settings = settings.model_copy(update={"allow_targets": (*settings.allow_targets, address)})
        loop = await stack.enter_async_context(worker(settings, shop))
        stop_on_signals(loop)
        if settings.health_port is not None:
            health = Health(loop=loop, store=store, clock=clock)
            port = await stack.enter_async_context(health.serve(settings.host, settings.health_port))
            log.info("health is told", address=f"{settings.host}:{port}")
        log.info("cadenza is up; stop it with Ctrl-C", demo=demo, speed=speed)
        upkeep = Upkeep(store=store, clock=SystemClock(), log=log, retention=retention(settings))
        await first_of(loop.run(), upkeep.run(), *([sale.steer()] if sale is not None else []))
        log.info("cadenza has stopped; everything that ended is settled")
