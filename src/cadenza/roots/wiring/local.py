"""The office on the database of the settings, for the command line."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.null import NoLog
from cadenza.domain.access.key import Caller, Scope
from cadenza.operations.application import Office
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.application import on_demand, open_office
from cadenza.roots.wiring.stores import open_store

ORIGIN = "cli"


class LocalOffice:
    """Asks as one caller, whatever is asked."""

    def __init__(self, office: Office, caller: Caller) -> None:
        self._office = office
        self._caller = caller

    async def ask(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """The operation's view as JSON values."""
        view = await self._office.ask(operation, arguments, self._caller)
        return view.model_dump(mode="json")


def operator(tenant_id: str) -> Caller:
    """The operator of this machine, who may do everything for any tenant."""
    return Caller(tenant_id, frozenset(Scope), ORIGIN)


@asynccontextmanager
async def local_office(settings: Settings, caller: Caller) -> AsyncIterator[LocalOffice]:
    """An office on the store of the settings, closed in the end."""
    clock, log = SystemClock(), NoLog()
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(settings, ids=TimeOrderedIds(), log=log))
        office = await stack.enter_async_context(
            open_office(
                settings,
                store=store,
                clock=clock,
                log=log,
                callables=CallableDispatcher(),
                opened=on_demand,
            )
        )
        yield LocalOffice(office, caller)
