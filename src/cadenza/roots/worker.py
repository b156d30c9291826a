"""`cadenza worker`: a worker as a process of its own."""

from contextlib import AsyncExitStack

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.engine.daily.events import SCHEDULER as DAILY
from cadenza.engine.supervision import Part, Supervisor
from cadenza.engine.worker.events import SCHEDULER as ENDPOINTS
from cadenza.roots.settings import Settings, read_settings
from cadenza.roots.wiring.extras import check_extras
from cadenza.roots.wiring.health import HealthServer, serve_health
from cadenza.roots.wiring.idle import refuse_beside_up
from cadenza.roots.wiring.monitoring import ProcessMonitoring
from cadenza.roots.wiring.process import (
    open_log,
    run_event_loop,
    stop_on_signals,
    tune_garbage_collection,
)
from cadenza.roots.wiring.stores import open_store
from cadenza.roots.wiring.worker import (
    ProcessContext,
    RestartableWorker,
    open_loop_factory,
    retention_loop,
)


def launch() -> int:
    """Work until stopped; the exit code."""
    settings = read_settings()
    refuse_beside_up(settings, "cadenza worker")
    check_extras(settings)
    tune_garbage_collection()
    run_event_loop(work(settings))
    return 0


async def work(settings: Settings) -> None:
    """Run a worker alone until a signal comes."""
    log = open_log(settings)
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(settings, ids=TimeOrderedIds(), log=log))
        monitoring = ProcessMonitoring(settings, store=store, log=log, role="worker")
        context = ProcessContext(
            store=store,
            clock=SystemClock(),
            log=log,
            callables=CallableDispatcher(),
            telemetry=monitoring.events,
            alerts=monitoring.endpoint_alerts(),
        )
        supervisor = Supervisor(clock=SystemClock(), log=log, telemetry=monitoring.events)
        worker = await open_worker(stack, settings, context, monitoring)
        parts = [
            Part("worker", worker.run, worker.stop),
            *await background_parts(stack, settings, context, monitoring),
        ]
        stop_on_signals(supervisor.stop)
        log.info("cadenza is up; stop it with Ctrl-C", role="worker")
        await supervisor.run(*parts)
        log.info("cadenza has stopped; all completed runs are recorded")


async def open_worker(
    stack: AsyncExitStack, settings: Settings, context: ProcessContext, monitoring: ProcessMonitoring
) -> RestartableWorker:
    """A worker that is ready to run, with its health served where the settings say."""
    new_loop = await stack.enter_async_context(open_loop_factory(settings, context))
    worker = RestartableWorker(new_loop, lambda: context.idle.last_idle_at)
    context.idle.stay_open_while(lambda: worker.in_flight > 0)
    health = HealthServer.for_worker(
        worker, store=context.store.health, clock=context.clock, registry=monitoring.registry
    )
    await serve_health(stack, settings, health=health, log=context.log)
    return worker


async def background_parts(
    stack: AsyncExitStack,
    settings: Settings,
    context: ProcessContext,
    monitoring: ProcessMonitoring,
    *,
    daily: bool = False,
) -> list[Part]:
    """What runs beside a worker, and beside a daily runner if there is one: retention, SLOs and alerts."""
    expected = (ENDPOINTS, DAILY) if daily else (ENDPOINTS,)
    upkeep = Part("upkeep", retention_loop(settings, context).run)
    return [upkeep, *await monitoring.open(stack, *expected)]
