"""Where a command is carried out: on the database of the settings, or behind a server."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.null import NoLog
from cadenza.domain.access.key import Caller, Scope
from cadenza.domain.errors import InvalidRequest
from cadenza.operations.application import Application
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.application import on_demand, open_application
from cadenza.roots.wiring.stores import open_store
from cadenza.surfaces.cli.connection import Way

USUAL_TENANT = "default"


class Behind(NamedTuple):
    """A server to ask, and the key to show it."""

    server: str
    key: str | None


def server_of(settings: Settings, way: Way) -> Behind | None:
    """The server that is meant; None if it is the database of the settings."""
    server = settings.server if way.server is None else way.server
    if not server:
        return None
    if way.tenant is not None:
        raise InvalidRequest("--tenant goes without a server: there, the key says whose things are meant.")
    kept = settings.key and settings.key.get_secret_value()
    return Behind(server, way.key or kept or None)


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
