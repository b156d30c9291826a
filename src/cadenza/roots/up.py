"""`cadenza up`: everything in one process, on one file."""

import sys
from contextlib import AsyncExitStack, suppress
from datetime import datetime
from socket import socket

from cadenza.adapters.clock import FastClock, PausingClock, SystemClock
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.telemetry.event_bus import EventBus, RunEndedWakeup
from cadenza.adapters.telemetry.prometheus import PlannerMetrics
from cadenza.domain.access.key import Caller, Scope, Surface
from cadenza.domain.errors import InvalidRequest
from cadenza.engine.idle import IdleGate
from cadenza.engine.supervision import Part, Supervisor
from cadenza.operations.access.keys import CreateKey, create_key
from cadenza.operations.access.login_links import CreateLoginLink, create_login_link
from cadenza.operations.application import Application
from cadenza.operations.context import RequestContext
from cadenza.ports.catalog import Page
from cadenza.ports.store import Store
from cadenza.ports.telemetry import JOB, Logger
from cadenza.roots.api import ApiServer, RestartableApi, address_of, http_api, listening_socket, with_port
from cadenza.roots.clients.server_record import ServerRecord, published
from cadenza.roots.demo import FlashSale, demo_settings
from cadenza.roots.planner import PlannerContext, PlannerService
from cadenza.roots.settings import DEFAULT_TENANT, Settings, read_settings
from cadenza.roots.wiring.application import open_application
from cadenza.roots.wiring.daily.service import clocks_for, daily_parts_in_up
from cadenza.roots.wiring.extras import check_extras
from cadenza.roots.wiring.health import is_alive
from cadenza.roots.wiring.idle import EVENTS, idle_parts, pacing_clock
from cadenza.roots.wiring.monitoring import ProcessMonitoring
from cadenza.roots.wiring.process import (
    open_log,
    run_event_loop,
    stop_on_signals,
    tune_garbage_collection,
)
from cadenza.roots.wiring.stores import open_store
from cadenza.roots.wiring.worker import ProcessContext, RestartableWorker
from cadenza.roots.worker import background_parts, open_worker
from cadenza.surfaces.http.metrics import Metrics

FASTEST = 1_000
ADMIN = Caller(DEFAULT_TENANT, frozenset({Scope.ADMIN}), "up", surface=Surface.CLI)


def launch(*, demo: bool, speed: float) -> int:
    """Serve until stopped; the exit code."""
    if not 0 < speed <= FASTEST:
        raise InvalidRequest(f"--speed must be above 0 and at most {FASTEST}.", "speed")
    settings = demo_settings(read_settings()) if demo else read_settings()
    check_extras(settings)
    tune_garbage_collection()
    run_event_loop(serve(settings, demo=demo, speed=speed))
    return 0


async def latest_time(store: Store) -> datetime:
    """Where a fast clock starts: at the newest run of the store, which may lie in the future, or now."""
    runs = [
        endpoint.last_run_at for endpoint in await store.catalog.find(DEFAULT_TENANT) if endpoint.last_run_at
    ]
    return max([SystemClock().now(), *runs])


async def serve(settings: Settings, *, demo: bool, speed: float) -> None:
    """Run all parts, and the demo beside them if wanted, until a signal comes.

    They stop in this order: first the API answers no more requests, then running work is settled.
    """
    log = open_log(settings)
    async with AsyncExitStack() as stack:
        listening = stack.enter_context(listening_socket(settings.host, settings.port))
        settings = with_port(settings, listening)
        store = await stack.enter_async_context(open_store(settings, ids=TimeOrderedIds(), log=log))
        monitoring, context = await _open_context(settings, store, log, speed)
        events, metrics, clock = monitoring.events, Metrics(monitoring.registry), context.clock
        supervisor = Supervisor(clock=SystemClock(), log=log, telemetry=events)
        stop_on_signals(context.idle.stop, supervisor.stop)
        if demo:
            sale = FlashSale(store=store, clock=clock, log=log, jitter_ms=settings.jitter_ms)
            address = await stack.enter_async_context(sale.open(settings.demo_port))
            settings = settings.model_copy(update={"allow_targets": (*settings.allow_targets, address)})
        worker = await open_worker(stack, settings, context, monitoring)
        daily = await daily_parts_in_up(stack, settings, context, clocks_for(clock))
        planners = planner_parts(settings, context, events, metrics)
        background = await background_parts(stack, settings, context, monitoring, daily=bool(daily))
        # Last, as it prints: settings that cannot be used are refused by those before it.
        api = await _open_api(
            stack, settings, context=context, worker=worker, listening=listening, metrics=metrics
        )
        parts = [
            Part("api", api.run, api.stop),
            Part("worker", worker.run, worker.stop),
            *daily,
            *planners,
            *background,
            *idle_parts(settings, context),
        ]
        stack.enter_context(published(settings, ServerRecord.of(settings, address_of(listening), clock)))
        log.info("cadenza is up; stop it with Ctrl-C", api=address_of(listening), demo=demo, speed=speed)
        await supervisor.run(*parts)
        log.info("cadenza has stopped; all completed runs are recorded")


async def _open_context(
    settings: Settings, store: Store, log: Logger, speed: float
) -> tuple[ProcessMonitoring, ProcessContext]:
    """What all parts share; where the process may be idle, their clock pauses them meanwhile."""
    idle = IdleGate(SystemClock())
    pace = pacing_clock(settings, idle)
    monitoring = ProcessMonitoring(
        settings,
        store=store,
        log=log,
        role="up",
        speed=speed,
        clock=pace,
        last_idle_at=lambda: idle.last_idle_at,
    )
    monitoring.events.attach("idle", idle, EVENTS)
    return monitoring, ProcessContext(
        store=store,
        clock=pace if speed == 1 else FastClock(speed, await latest_time(store)),
        log=log,
        callables=CallableDispatcher(),
        telemetry=monitoring.events,
        alerts=monitoring.endpoint_alerts(),
        idle=idle,
    )


def planner_parts(
    settings: Settings, context: ProcessContext, events: EventBus, metrics: Metrics
) -> list[Part]:
    """The planners, if the settings want them, woken when a run has ended; not vital for scheduling."""
    if not settings.planner:
        return []
    wakeup = RunEndedWakeup()
    idle = context.idle if isinstance(context.clock, PausingClock) else None
    events.attach("planner-bell", wakeup, {JOB})
    events.attach("planner-metrics", PlannerMetrics(metrics.registry))
    planners = PlannerService(
        settings, PlannerContext(context.store, context.clock, context.log, events, wakeup, idle)
    )
    context.idle.stay_open_while(lambda: planners.busy)
    return [Part("planner", planners.run, vital=False)]


async def _open_api(
    stack: AsyncExitStack,
    settings: Settings,
    *,
    context: ProcessContext,
    worker: RestartableWorker,
    listening: socket,
    metrics: Metrics,
) -> RestartableApi:
    """The API on a worker's store; it prints a key on the first start, and a login link on each."""
    application = await stack.enter_async_context(
        open_application(
            settings,
            store=context.store,
            # What a request waits for is not to be held up, whoever is idle.
            clock=SystemClock() if isinstance(context.clock, PausingClock) else context.clock,
            log=context.log,
            callables=context.callables,
            poll_clock=context.clock if isinstance(context.clock, PausingClock) else None,
        )
    )
    key = await create_first_key(application)
    if key is not None:
        print_first_key(address_of(listening), key)
    await print_login_link(address_of(listening), application)

    def alive() -> bool:
        return is_alive(worker, context.clock)

    def new_server() -> ApiServer:
        app = http_api(settings, application, alive, metrics=metrics, active=context.idle.active)
        return ApiServer(settings, app)

    return RestartableApi(new_server, listening)


async def create_first_key(application: Application) -> str | None:
    """An admin key for a database without any key; None if there is one."""
    store = application.dependencies.store
    if await store.keys.keys(DEFAULT_TENANT, Page(1)):
        return None
    await store.tenants.put_tenant(await store.tenants.tenant(DEFAULT_TENANT))
    made = await create_key.handle(
        RequestContext(application.dependencies, ADMIN), CreateKey(name="first", scopes=[Scope.ADMIN])
    )
    return made.key


def print_first_key(address: str, key: str) -> None:
    """Print the key once for the operator; it is never logged."""
    text = (
        f"\nThis is your first key. It may do everything, and it is shown only now:\n\n"
        f"  {key}\n\n"
        f"Try it:\n\n"
        f'  curl -H "Authorization: Bearer {key}" {address}/v1/endpoints\n\n'
        f"The API is documented at {address}/docs.\n\n"
    )
    _print(text)


async def print_login_link(address: str, application: Application) -> None:
    """Print a login link of the dashboard; its code is in the fragment, which is neither sent nor logged."""
    link = await create_login_link.handle(RequestContext(application.dependencies, ADMIN), CreateLoginLink())
    _print(
        "\nOpen the dashboard; this link works once, within an hour, and `cadenza login` prints another:\n\n"
        f"  {address}{link.path}\n\n"
    )


def _print(text: str) -> None:
    with suppress(OSError, ValueError):  # Standard output is closed; `cadenza keys create` makes another key.
        sys.stdout.write(text)
        sys.stdout.flush()
