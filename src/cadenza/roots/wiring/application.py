"""The application from settings."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import timedelta

from cadenza.adapters.access.rate_limiter import TrialRateLimiter
from cadenza.adapters.access.stored_secrets import StoredSecrets
from cadenza.adapters.calendars.sources import LibrarySources
from cadenza.adapters.clock import SystemClock
from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.dispatch.by_target import DispatcherByTarget
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.ids import RandomTokens, TimeOrderedIds
from cadenza.adapters.null import NoQuota
from cadenza.adapters.planners.rules.expressions import PROBES, CelExpressions
from cadenza.adapters.telemetry.channels import AddressSender, GuardedChannels
from cadenza.domain.channel import Notice
from cadenza.engine.steering import Steering
from cadenza.engine.worker.execute import Executor
from cadenza.operations.application import Application
from cadenza.operations.context import Dependencies
from cadenza.ports.clock import Clock
from cadenza.ports.dispatcher import Dispatcher
from cadenza.ports.secrets import SecretStore
from cadenza.ports.store import Store
from cadenza.ports.telemetry import Logger
from cadenza.roots.settings import Settings, allowed_models
from cadenza.roots.wiring.agents import conversations
from cadenza.roots.wiring.secrets import open_secrets, target_secrets
from cadenza.sim.playback import Playback


@asynccontextmanager
async def open_application(
    settings: Settings,
    *,
    store: Store,
    clock: Clock,
    log: Logger,
    callables: CallableDispatcher,
    poll_clock: Clock | None = None,
) -> AsyncIterator[Application]:
    """An application on a store; trials are dispatched as a worker would, and no quota counts them."""
    async with AsyncExitStack() as stack:
        stored = await stack.enter_async_context(open_secrets(settings, store))
        http = await stack.enter_async_context(open_http_dispatcher(settings, stored, clock=clock, log=log))
        given = application_dependencies(
            settings, store=store, clock=clock, log=log, secrets=stored, http=http, callables=callables
        )
        yield Application(replace(given, poll_clock=poll_clock))


def application_dependencies(
    settings: Settings,
    *,
    store: Store,
    clock: Clock,
    log: Logger,
    secrets: StoredSecrets,
    http: Dispatcher,
    callables: CallableDispatcher,
) -> Dependencies:
    """The dependencies of all requests, with agents, and with a dispatcher for trials."""
    shared = dependencies(
        store=store,
        clock=clock,
        log=log,
        dispatcher=DispatcherByTarget(http=http, callables=callables),
        secrets=secrets,
        jitter_ms=settings.jitter_ms,
        max_timeout_ms=settings.max_timeout_ms,
    )
    return replace(
        shared,
        conversations=conversations(settings, shared, http),
        models=allowed_models(settings),
        channels=guarded_channels(settings, secrets, dispatcher=http, clock=clock),
        daily_window=timedelta(minutes=settings.window_minutes),
        daily_tick=timedelta(milliseconds=settings.tick_ms),
    )


def open_http_dispatcher(
    settings: Settings, stored: StoredSecrets, *, clock: Clock, log: Logger
) -> AbstractAsyncContextManager[Dispatcher]:
    """The dispatcher of HTTP targets, which is closed in the end."""
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
        probe_conditions=CelExpressions(PROBES),
        calendar_sources=LibrarySources(),
        take_trial=TrialRateLimiter(store.rates, clock).take,
        system_clock=SystemClock(),
        simulations=Playback(),
    )


def guarded_channels(
    settings: Settings, stored: StoredSecrets, *, dispatcher: Dispatcher, clock: Clock
) -> GuardedChannels:
    """What sends messages to channels; Apprise is loaded with its first message."""
    return GuardedChannels(
        dispatcher=dispatcher,
        secrets=target_secrets(settings, stored),
        clock=clock,
        send_by_apprise=_apprise_when_needed(settings),
    )


def _apprise_when_needed(settings: Settings) -> AddressSender:
    made: list[AddressSender] = []

    async def send(url: str, notice: Notice, /) -> str | None:
        if not made:
            from cadenza.adapters.dispatch.http.ssrf_guard import SsrfGuard
            from cadenza.adapters.telemetry.apprise_channel import AppriseSender
            from cadenza.roots.wiring.http_dispatch import http_settings

            http = http_settings(settings)
            made.append(AppriseSender(SsrfGuard(allow_private=http.allow_private, allow=http.allow)))
        return await made[0](url, notice)

    return send
