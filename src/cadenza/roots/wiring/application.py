"""An application: what operations need, from settings to something that can be asked."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from cadenza.adapters.access.stored_secrets import StoredSecrets
from cadenza.adapters.clock import SystemClock
from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.dispatch.by_target import DispatcherByTarget, DispatcherOnDemand
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.ids import RandomTokens, TimeOrderedIds
from cadenza.adapters.null import NoLog, NoQuota
from cadenza.adapters.planners.rules.expressions import CelExpressions
from cadenza.domain.access.key import Caller, Scope
from cadenza.domain.errors import InvalidRequest
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
from cadenza.roots.wiring.stores import open_store
from cadenza.sim.playback import Playback
from cadenza.surfaces.cli.connection import Connection

Opening = Callable[[], AbstractAsyncContextManager[Dispatcher]]


def at_once(opening: Opening) -> AbstractAsyncContextManager[Dispatcher]:
    """For who serves: what is wrong with the settings is told before anybody asks."""
    return opening()


def on_demand(opening: Opening) -> AbstractAsyncContextManager[Dispatcher]:
    """For a single command: hardly one tries a target, and the library for it is a large one."""
    return DispatcherOnDemand(opening)


@asynccontextmanager
async def open_application(
    settings: Settings,
    *,
    store: Store,
    clock: Clock,
    log: Logger,
    callables: CallableDispatcher,
    opened: Callable[[Opening], AbstractAsyncContextManager[Dispatcher]] = at_once,
) -> AsyncIterator[Application]:
    """An application on a store; trials are dispatched as a worker would, and no quota counts them."""
    async with AsyncExitStack() as stack:
        stored = await stack.enter_async_context(open_secrets(settings))
        http = await stack.enter_async_context(opened(partial(_requests, settings, stored, clock=clock)))
        dispatcher = DispatcherByTarget(http=http, callables=callables)
        given = dependencies(store=store, clock=clock, log=log, dispatcher=dispatcher, secrets=stored)
        yield Application(
            replace(given, conversations=conversations(settings, given), models=models(settings))
        )


def _requests(
    settings: Settings, stored: StoredSecrets, *, clock: Clock
) -> AbstractAsyncContextManager[Dispatcher]:
    from cadenza.roots.wiring.http_dispatch import http_dispatcher

    return http_dispatcher(settings, stored, clock=clock)


def dependencies(
    *, store: Store, clock: Clock, log: Logger, dispatcher: Dispatcher, secrets: SecretStore
) -> Dependencies:
    """What desks share, all but the agents."""
    cron = CronsimCron()
    return Dependencies(
        store=store,
        clock=clock,
        cron=cron,
        ids=TimeOrderedIds(),
        token_generator=RandomTokens(),
        log=log,
        executor=Executor(dispatcher=dispatcher, quota=NoQuota(), clock=clock),
        secrets=secrets,
        steering=Steering(store=store.endpoints, clock=clock, cron=cron, log=log),
        expressions=CelExpressions(),
        system_clock=SystemClock(),
        simulations=Playback(),
    )


DEFAULT_TENANT = "default"


class ServerAddress(NamedTuple):
    """A server to ask, and the key to show it."""

    server: str
    key: str | None


def named_server(settings: Settings, connection: Connection) -> ServerAddress | None:
    """The server that is meant; None if it is the database of the settings."""
    server = settings.server if connection.server is None else connection.server
    if not server:
        return None
    if connection.tenant is not None:
        raise InvalidRequest("--tenant goes without a server: there, the key says whose things are meant.")
    kept = settings.key and settings.key.get_secret_value()
    return ServerAddress(server, connection.key or kept or None)


ORIGIN = "cli"


class LocalClient:
    """Asks as one caller, whatever is asked."""

    def __init__(self, application: Application, caller: Caller) -> None:
        self._application = application
        self._caller = caller

    async def ask(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """The operation's view as JSON values."""
        view = await self._application.ask(operation, arguments, self._caller)
        return view.model_dump(mode="json")


def operator(tenant_id: str) -> Caller:
    """The operator of this machine, who may do everything for any tenant."""
    return Caller(tenant_id, frozenset(Scope), ORIGIN)


@asynccontextmanager
async def local_client(settings: Settings, caller: Caller) -> AsyncIterator[LocalClient]:
    """An application on the store of the settings, closed in the end."""
    clock, log = SystemClock(), NoLog()
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(settings, ids=TimeOrderedIds(), log=log))
        application = await stack.enter_async_context(
            open_application(
                settings,
                store=store,
                clock=clock,
                log=log,
                callables=CallableDispatcher(),
                opened=on_demand,
            )
        )
        yield LocalClient(application, caller)
