"""Everything in one process, on one file; and a worker alone."""

from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from socket import socket

from cadenza.adapters.clock import FastClock, SystemClock
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.telemetry.prometheus import PlannerMetrics
from cadenza.adapters.telemetry.subscribers import Events, RunBell
from cadenza.domain.errors import InvalidRequest
from cadenza.engine.daily.events import SCHEDULER as DAILY
from cadenza.engine.retention import Upkeep
from cadenza.engine.supervision import Part, Supervisor
from cadenza.engine.worker.events import SCHEDULER as ENDPOINTS
from cadenza.ports.clock import Clock
from cadenza.ports.store import Retention, Store
from cadenza.ports.telemetry import JOB
from cadenza.roots.api import Server, Serving, a_log, address_of, api, bound, on_signals
from cadenza.roots.demo import FlashSale
from cadenza.roots.planner import Study, Thinker
from cadenza.roots.settings import Settings, read_settings
from cadenza.roots.wiring.application import open_application
from cadenza.roots.wiring.daily_service import daily_beside, times_of
from cadenza.roots.wiring.event_loop import run_to_end
from cadenza.roots.wiring.first_start import first_key, show, show_link
from cadenza.roots.wiring.health import Health, goes_round, tell_health
from cadenza.roots.wiring.monitoring import ProcessMonitoring
from cadenza.roots.wiring.stores import open_store
from cadenza.roots.worker import Worker, Workshop, looping, tune_memory
from cadenza.sim.product_run import TENANT
from cadenza.surfaces.http.metrics import Metrics

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
    """Run all parts, and the demo beside them if wanted, until a signal comes.

    They stop in this order: first nobody is answered any more, then what runs is settled.
    """
    log = a_log(settings)
    async with AsyncExitStack() as stack:
        listening = stack.enter_context(bound(settings.host, settings.port))
        store = await stack.enter_async_context(open_store(settings, ids=TimeOrderedIds(), log=log))
        clock: Clock = SystemClock() if speed == 1 else FastClock(speed, await reached(store))
        monitoring = ProcessMonitoring(settings, store=store, log=log, role="up", speed=speed)
        events, metrics = monitoring.events, Metrics(monitoring.registry)
        shop = Workshop(
            store=store,
            clock=clock,
            log=log,
            callables=CallableDispatcher(),
            telemetry=events,
            alerts=monitoring.endpoint_alerts(),
        )
        supervisor = Supervisor(clock=SystemClock(), log=log, telemetry=events)
        if demo:
            sale = FlashSale(store=store, clock=clock, log=log)
            address = await stack.enter_async_context(sale.open(settings.demo_port))
            settings = settings.model_copy(update={"allow_targets": (*settings.allow_targets, address)})
        worker = await _open_worker(stack, settings, shop, monitoring)
        api = await _open_api(stack, settings, shop=shop, worker=worker, listening=listening, metrics=metrics)
        daily = await daily_beside(stack, settings, shop, times_of(clock))
        parts = [
            Part("api", api.run, api.stop),
            Part("worker", worker.run, worker.stop),
            *daily,
            *planning(settings, shop, events, metrics),
            Part("upkeep", upkeep(settings, shop).run),
            *await monitoring.open(stack, ENDPOINTS, *([DAILY] if daily else [])),
        ]
        on_signals(supervisor.stop)
        log.info("cadenza is up; stop it with Ctrl-C", api=address_of(listening), demo=demo, speed=speed)
        await supervisor.run(*parts)
        log.info("cadenza has stopped; everything that ended is settled")


async def work(settings: Settings) -> None:
    """Run a worker alone until a signal comes."""
    log = a_log(settings)
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(settings, ids=TimeOrderedIds(), log=log))
        monitoring = ProcessMonitoring(settings, store=store, log=log, role="worker")
        shop = Workshop(
            store=store,
            clock=SystemClock(),
            log=log,
            callables=CallableDispatcher(),
            telemetry=monitoring.events,
            alerts=monitoring.endpoint_alerts(),
        )
        supervisor = Supervisor(clock=SystemClock(), log=log, telemetry=monitoring.events)
        worker = await _open_worker(stack, settings, shop, monitoring)
        parts = [
            Part("worker", worker.run, worker.stop),
            Part("upkeep", upkeep(settings, shop).run),
            *await monitoring.open(stack, ENDPOINTS),
        ]
        on_signals(supervisor.stop)
        log.info("cadenza is up; stop it with Ctrl-C", role="worker")
        await supervisor.run(*parts)
        log.info("cadenza has stopped; everything that ended is settled")


def planning(settings: Settings, shop: Workshop, events: Events, metrics: Metrics) -> list[Part]:
    """The planners, if they are wanted; they hear when a run has ended. Without them, scheduling goes on."""
    if not settings.planner:
        return []
    bell = RunBell()
    events.attach("planner-bell", bell, {JOB})
    events.attach("planner-metrics", PlannerMetrics(metrics.registry))
    thinker = Thinker(settings, Study(shop.store, shop.clock, shop.log, events, bell))
    return [Part("planner", thinker.run, vital=False)]


def upkeep(settings: Settings, shop: Workshop) -> Upkeep:
    """What forgets, by the clock on the wall also where another one runs faster."""
    conversations, verdicts = settings.keep_conversations_days, settings.keep_verdicts_days
    return Upkeep(
        store=shop.store,
        clock=SystemClock(),
        log=shop.log,
        retention=retention(settings),
        conversations=None if conversations is None else timedelta(days=conversations),
        verdicts=None if verdicts is None else timedelta(days=verdicts),
    )


async def _open_worker(
    stack: AsyncExitStack, settings: Settings, shop: Workshop, monitoring: ProcessMonitoring
) -> Worker:
    worker = Worker(await stack.enter_async_context(looping(settings, shop)))
    health = Health.of(worker, store=shop.store, clock=shop.clock, registry=monitoring.registry)
    await tell_health(stack, settings, health=health, log=shop.log)
    return worker


async def _open_api(
    stack: AsyncExitStack,
    settings: Settings,
    *,
    shop: Workshop,
    worker: Worker,
    listening: socket,
    metrics: Metrics,
) -> Serving:
    """The API on a worker's store; on the first start it shows a key, and on each a link."""
    opening = open_application(
        settings, store=shop.store, clock=shop.clock, log=shop.log, callables=shop.callables
    )
    application = await stack.enter_async_context(opening)
    key = await first_key(application)
    if key is not None:
        show(address_of(listening), key)
    await show_link(address_of(listening), application)

    def lives() -> bool:
        return goes_round(worker, shop.clock)

    return Serving(lambda: Server(settings, api(settings, application, lives, metrics=metrics)), listening)
