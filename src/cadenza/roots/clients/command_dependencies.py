"""The dependencies of one command, of which the costly ones are imported and built with their first use."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from functools import cache, partial
from typing import Any, cast

from cadenza.adapters.calendars.sources import LibrarySources
from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.ids import RandomTokens, TimeOrderedIds
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.operations.context import Dependencies
from cadenza.ports.clock import Clock
from cadenza.ports.store import Store
from cadenza.ports.telemetry import Logger
from cadenza.roots.settings import Settings, allowed_models


class BuiltOnFirstUse:
    """Stands for a dependency, and builds it when one of its attributes is asked for."""

    def __init__(self, build: Callable[[], Any]) -> None:
        self._build = build

    def __getattr__(self, name: str) -> Any:
        return getattr(self._build(), name)


def command_dependencies(
    settings: Settings, store: Store, *, clock: Clock, log: Logger, stack: AsyncExitStack
) -> Dependencies:
    """The dependencies of a command in this process; what they open is closed with the stack.

    Most commands read one list, for which importing the HTTP client, the encryption, the agents and the
    simulations would take longer than the command itself.
    """
    built = cache(partial(_all_dependencies, settings, store, clock=clock, log=log, stack=stack))

    def later(name: str) -> Any:
        return BuiltOnFirstUse(lambda: getattr(built(), name))

    async def take_trial(endpoint: EndpointKey) -> float | None:
        return await built().take_trial(endpoint)

    return Dependencies(
        store=store,
        clock=clock,
        cron=CronsimCron(),
        ids=TimeOrderedIds(),
        token_generator=RandomTokens(),
        log=log,
        executor=later("executor"),
        secrets=later("secrets"),
        steering=later("steering"),
        expressions=later("expressions"),
        probe_conditions=later("probe_conditions"),
        calendar_sources=LibrarySources(),
        take_trial=take_trial,
        system_clock=later("system_clock"),
        jitter_ms=settings.jitter_ms,
        max_timeout_ms=settings.max_timeout_ms,
        daily_window=timedelta(minutes=settings.window_minutes),
        daily_tick=timedelta(milliseconds=settings.tick_ms),
        conversations=later("conversations"),
        models=allowed_models(settings),
        simulations=later("simulations"),
        channels=later("channels"),
    )


def _all_dependencies(
    settings: Settings, store: Store, *, clock: Clock, log: Logger, stack: AsyncExitStack
) -> Dependencies:
    """All dependencies, with an HTTP client that is opened for the first trial."""
    from cadenza.adapters.dispatch.by_target import DispatcherOnDemand
    from cadenza.adapters.dispatch.callables import CallableDispatcher
    from cadenza.adapters.stores.sql.store import SqlStore
    from cadenza.roots.wiring.application import application_dependencies, open_http_dispatcher
    from cadenza.roots.wiring.secrets import secrets_in

    secrets = secrets_in(settings, cast("SqlStore", store))
    http = DispatcherOnDemand(partial(open_http_dispatcher, settings, secrets, clock=clock, log=log))
    stack.push_async_exit(http)
    return application_dependencies(
        settings,
        store=store,
        clock=clock,
        log=log,
        secrets=secrets,
        http=http,
        callables=CallableDispatcher(),
    )
