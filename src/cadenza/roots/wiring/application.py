"""The application from settings."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial

from cadenza.adapters.access.rate_limiter import TrialRateLimiter
from cadenza.adapters.access.stored_secrets import StoredSecrets
from cadenza.adapters.clock import SystemClock
from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.dispatch.by_target import DispatcherByTarget, DispatcherOnDemand
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.ids import RandomTokens, TimeOrderedIds
from cadenza.adapters.null import NoQuota
from cadenza.adapters.planners.rules.expressions import CelExpressions
from cadenza.engine.steering import Steering
from cadenza.engine.worker.execute import Executor
from cadenza.operations.application import Application
from cadenza.operations.context import Dependencies
from cadenza.ports.clock import Clock
from cadenza.ports.dispatcher import Dispatcher
from cadenza.ports.secrets import SecretStore
from cadenza.ports.store import Store
from cadenza.ports.telemetry import Logger
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.agents import conversations, models
from cadenza.roots.wiring.secrets import open_secrets
from cadenza.sim.playback import Playback

OpenDispatcher = Callable[[], AbstractAsyncContextManager[Dispatcher]]


def at_once(open_dispatcher: OpenDispatcher) -> AbstractAsyncContextManager[Dispatcher]:
    """For servers: wrong settings are reported at the start."""
    return open_dispatcher()


def on_demand(open_dispatcher: OpenDispatcher) -> AbstractAsyncContextManager[Dispatcher]:
    """For single commands: few of them try a target, and the HTTP client is slow to import."""
    return DispatcherOnDemand(open_dispatcher)


@asynccontextmanager
async def open_application(
    settings: Settings,
    *,
    store: Store,
    clock: Clock,
    log: Logger,
    callables: CallableDispatcher,
    opened: Callable[[OpenDispatcher], AbstractAsyncContextManager[Dispatcher]] = at_once,
    poll_clock: Clock | None = None,
) -> AsyncIterator[Application]:
    """An application on a store; trials are dispatched as a worker would, and no quota counts them."""
    async with AsyncExitStack() as stack:
        stored = await stack.enter_async_context(open_secrets(settings, store))
        http = await stack.enter_async_context(
            opened(partial(_http_dispatcher, settings, stored, clock=clock, log=log))
        )
        dispatcher = DispatcherByTarget(http=http, callables=callables)
        shared = dependencies(
            store=store,
            clock=clock,
            log=log,
            dispatcher=dispatcher,
            secrets=stored,
            jitter_ms=settings.jitter_ms,
            max_timeout_ms=settings.max_timeout_ms,
        )
        yield Application(
            replace(
                shared,
                conversations=conversations(settings, shared),
                models=models(settings),
                poll_clock=poll_clock,
                daily_window=timedelta(minutes=settings.window_minutes),
            )
        )


def _http_dispatcher(
    settings: Settings, stored: StoredSecrets, *, clock: Clock, log: Logger
) -> AbstractAsyncContextManager[Dispatcher]:
    from cadenza.roots.wiring.http_dispatch import http_dispatcher

    return http_dispatcher(settings, stored, clock=clock, log=log)


def dependencies(
    *,
    store: Store,
    clock: Clock,
    log: Logger,
    dispatcher: Dispatcher,
    secrets: SecretStore,
    jitter_ms: int = 0,
    max_timeout_ms: int | None = None,
) -> Dependencies:
    """The dependencies of all requests, without the agents."""
    cron = CronsimCron()
    return Dependencies(
        store=store,
        clock=clock,
        cron=cron,
        ids=TimeOrderedIds(),
        token_generator=RandomTokens(),
        log=log,
        executor=Executor(dispatcher=dispatcher, quota=NoQuota(), clock=clock, max_timeout_ms=max_timeout_ms),
        secrets=secrets,
        steering=Steering(store=store.endpoints, clock=clock, cron=cron, jitter_ms=jitter_ms),
        jitter_ms=jitter_ms,
        max_timeout_ms=max_timeout_ms,
        expressions=CelExpressions(),
        take_trial=TrialRateLimiter(store.rates, clock).take,
        system_clock=SystemClock(),
        simulations=Playback(),
    )


DEFAULT_TENANT = "default"
