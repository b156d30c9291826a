"""A worker from settings: its store, dispatchers and loop."""

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from cadenza.adapters.access.quota import CountedQuota
from cadenza.adapters.calendars.sources import LibrarySources
from cadenza.adapters.clock import SystemClock, SystemStopwatch
from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.dispatch.by_target import DispatcherByTarget, HeartbeatDispatcher
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.dispatch.mcp_tool import McpDispatcher
from cadenza.adapters.null import NoTelemetry
from cadenza.domain.agents.wake_value import Pricing
from cadenza.domain.scheduling.target import CALLABLE, HEARTBEAT, HTTP, PROBE_CALLABLE, PROMPT
from cadenza.engine.async_helpers import Work
from cadenza.engine.calendar_upkeep import CalendarUpkeep
from cadenza.engine.idle import IdleGate
from cadenza.engine.retention import RetentionLoop
from cadenza.engine.worker.clock_check import ClockCheck
from cadenza.engine.worker.events import WorkerEvents
from cadenza.engine.worker.execute import Executor
from cadenza.engine.worker.functions import FunctionDeclarations
from cadenza.engine.worker.loop import WorkerLoop
from cadenza.engine.worker.settle import EndpointAlerts
from cadenza.engine.worker.sweeper import Sweeper
from cadenza.engine.worker.worker_settings import WorkerSettings
from cadenza.ports.clock import Clock
from cadenza.ports.dispatcher import Dispatcher
from cadenza.ports.scheduling import Retention
from cadenza.ports.secrets import SecretStore
from cadenza.ports.store import Store
from cadenza.ports.telemetry import Logger, Telemetry
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.agents import conversations, prompt_dispatcher
from cadenza.roots.wiring.application import dependencies
from cadenza.roots.wiring.http_dispatch import http_dispatcher
from cadenza.roots.wiring.secrets import open_secrets


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessContext:
    """What the parts of one process share."""

    store: Store
    clock: Clock
    log: Logger
    callables: CallableDispatcher
    beside_functions: Callable[[], Collection[str]] = lambda: (HTTP, PROMPT, HEARTBEAT)
    """What it runs beside the functions that are registered with it."""
    telemetry: Telemetry = field(default_factory=NoTelemetry)
    alerts: EndpointAlerts | None = None
    idle: IdleGate = field(default_factory=lambda: IdleGate(SystemClock()))
    """Stays open, unless `cadenza up` runs it for a database that falls asleep."""


class RestartableWorker:
    """A worker that can be restarted: the claims of a loop that crashed are left to the sweeper."""

    def __init__(
        self,
        new_loop: Callable[[], WorkerLoop],
        last_idle_at: Callable[[], datetime | None] = lambda: None,
    ) -> None:
        self._new_loop = new_loop
        self._loop = new_loop()
        self._last_idle_at = last_idle_at

    @property
    def alive_at(self) -> datetime:
        """When its loop last made progress, or had no reason to."""
        idle_at = self._last_idle_at()
        return self._loop.alive_at if idle_at is None else max(self._loop.alive_at, idle_at)

    @property
    def in_flight(self) -> int:
        """How many claims it holds."""
        return self._loop.in_flight

    def run(self) -> Work:
        """Run a new loop until stopped."""
        self._loop = self._new_loop()
        return self._loop.run()

    def stop(self) -> None:
        """Claim no more, let runs finish and settle them."""
        self._loop.stop()


@asynccontextmanager
async def open_loop(settings: Settings, context: ProcessContext) -> AsyncIterator[WorkerLoop]:
    """A loop that is ready to run."""
    async with open_loop_factory(settings, context) as new_loop:
        yield new_loop()


@asynccontextmanager
async def open_loop_factory(
    settings: Settings, context: ProcessContext
) -> AsyncIterator[Callable[[], WorkerLoop]]:
    """A function that makes loops, each ready to run; only one of them runs at a time."""
    if isinstance(context.clock, SystemClock):
        check = ClockCheck(
            store=context.store.endpoints, clock=context.clock, log=context.log, lease_ms=settings.lease_ms
        )
        await check.at_start()
    async with AsyncExitStack() as stack:
        stored = await stack.enter_async_context(open_secrets(settings))
        http = await stack.enter_async_context(
            http_dispatcher(settings, stored, clock=context.clock, log=context.log)
        )
        executor = Executor(
            dispatcher=DispatcherByTarget(
                http=http,
                callables=context.callables,
                prompts=_prompt_dispatcher(settings, context, stored, http),
                heartbeats=HeartbeatDispatcher(context.store.heartbeats),
            ),
            quota=CountedQuota(context.store.tenants, context.clock, context.telemetry),
            clock=context.clock,
            max_timeout_ms=settings.max_timeout_ms,
        )
        yield partial(_new_loop, settings, context, executor)


def _prompt_dispatcher(
    settings: Settings, context: ProcessContext, stored: SecretStore, http: Dispatcher
) -> Dispatcher:
    """The dispatcher of agent schedules; the agents' tools are the application's own operations."""
    trials = DispatcherByTarget(callables=context.callables)
    given = dependencies(
        store=context.store,
        clock=context.clock,
        log=context.log,
        dispatcher=trials,
        secrets=stored,
        max_timeout_ms=settings.max_timeout_ms,
    )
    probes = DispatcherByTarget(http=http, callables=context.callables, mcp=McpDispatcher(http))
    agents = conversations(settings, given, http)
    return prompt_dispatcher(agents, given, probes, Pricing(settings.wake_price))


def _new_loop(settings: Settings, context: ProcessContext, executor: Executor) -> WorkerLoop:
    cron = CronsimCron()
    return WorkerLoop(
        store=context.store.endpoints,
        executor=executor,
        sweeper=Sweeper(
            store=context.store.endpoints,
            clock=context.clock,
            cron=cron,
            log=context.log,
            events=WorkerEvents(context.telemetry, context.log),
            alerts=context.alerts,
        ),
        clock=context.clock,
        cron=cron,
        telemetry=context.telemetry,
        log=context.log,
        settings=WorkerSettings(
            claim_limit=settings.claim_limit,
            concurrency=settings.worker_concurrency,
            claim_ahead_ms=settings.claim_ahead_ms,
            lease_ms=settings.lease_ms,
            jitter_ms=settings.jitter_ms,
            grace_ms=settings.grace_ms,
            poll_ms=settings.poll_ms,
        ),
        alerts=context.alerts,
        can_run=partial(_can_run, context),
        stopwatch=SystemStopwatch() if isinstance(context.clock, SystemClock) else None,
        functions=FunctionDeclarations(
            store=context.store.functions,
            names=lambda: context.callables.names,
            clock=context.clock,
            cron=cron,
            log=context.log,
            retire_after_ms=settings.retire_functions_ms,
            jitter_ms=settings.jitter_ms,
        ),
    )


def _can_run(context: ProcessContext) -> list[str]:
    """What a worker claims: functions that are registered with it, and what its process runs beside them."""
    others, names = context.beside_functions(), context.callables.names
    probes = [f"{PROBE_CALLABLE}{name}" for name in names] if PROMPT in others else []
    return [*others, *(f"{CALLABLE}{name}" for name in names), *probes]


def retention_loop(settings: Settings, context: ProcessContext) -> RetentionLoop:
    """Deletes old history, every hour by the system clock; ages are by the clock that is behind."""
    system = context.clock if isinstance(context.clock, SystemClock) else SystemClock()
    conversations, verdicts = settings.keep_conversations_days, settings.keep_verdicts_days
    undelivered, audit = settings.keep_undelivered_days, settings.keep_audit_days
    return RetentionLoop(
        store=context.store,
        clock=system,
        log=context.log,
        retention=run_retention(settings),
        present=lambda: min(system.now(), context.clock.now()),
        conversations=None if conversations is None else timedelta(days=conversations),
        verdicts=None if verdicts is None else timedelta(days=verdicts),
        undelivered=None if undelivered is None else timedelta(days=undelivered),
        audit=None if audit is None else timedelta(days=audit),
        calendars=CalendarUpkeep(
            calendars=context.store.calendars,
            sources=LibrarySources(),
            cron=CronsimCron(),
            clock=context.clock,
            log=context.log,
            jitter_ms=settings.jitter_ms,
        ),
    )


def run_retention(settings: Settings) -> Retention:
    """How long the settings want runs to be kept."""
    days = settings.keep_runs_days
    return Retention(None if days is None else timedelta(days=days), settings.keep_runs_count)
