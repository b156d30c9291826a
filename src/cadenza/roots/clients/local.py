"""A client that performs operations in this process, on the database of the settings."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.null import NoLog
from cadenza.domain.access.key import Caller
from cadenza.operations.application import Application
from cadenza.operations.single_operation import find_operation
from cadenza.ports.telemetry import Logger
from cadenza.roots.clients.choice import where_else
from cadenza.roots.clients.command_dependencies import command_dependencies
from cadenza.roots.clients.server_record import database_path, running_server
from cadenza.roots.settings import SQLITE, Settings
from cadenza.roots.wiring.stores import check_url, open_store

Note = Callable[[str], None]


class LocalClient:
    """Performs operations in this process, as one caller.

    A database that is not there is made by the first operation that writes. Those that
    read find nothing, and leave nothing behind.
    """

    def __init__(self, settings: Settings, caller: Caller, *, stack: AsyncExitStack, note: Note) -> None:
        self._settings = settings
        self._caller = caller
        self._stack = stack
        self._note = note
        self._database: Application | None = None
        self._nothing: Application | None = None

    async def ask(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """The operation's view as JSON values."""
        application = await self._application_for(operation)
        view = await application.ask(operation, arguments, self._caller)
        return view.model_dump(mode="json")

    async def open(self) -> Application:
        """The application on the database."""
        if self._database is None:
            self._database = await self._stack.enter_async_context(_application(self._settings))
        return self._database

    async def _application_for(self, operation: str) -> Application:
        missing = missing_file(self._settings)
        if self._database is not None or missing is None:
            return await self.open()
        asked = find_operation(operation)
        if asked is not None and asked.writes:
            opened = await self.open()
            self._note(f"Created the database {missing}.")
            return opened
        if self._nothing is None:
            self._note(f"Database {missing} not found: {where_else(self._settings)}.")
            empty = Path(self._stack.enter_context(TemporaryDirectory())) / missing.name
            settings = self._settings.model_copy(update={"database_url": f"{SQLITE}{empty}"})
            self._nothing = await self._stack.enter_async_context(_application(settings))
        return self._nothing


def missing_file(settings: Settings) -> Path | None:
    """Where the SQLite file of the settings would be; None if it is there, or for PostgreSQL."""
    path = database_path(settings)
    return None if path is None or path.exists() else path.absolute()


@asynccontextmanager
async def local_client(settings: Settings, caller: Caller, note: Note) -> AsyncIterator[LocalClient]:
    """A client of an application on the database of the settings."""
    check_url(settings.database_url)
    async with AsyncExitStack() as stack:
        client = LocalClient(settings, caller, stack=stack, note=note)
        if missing_file(settings) is None:
            await client.open()
        yield client


def _command_log(settings: Settings) -> Logger:
    """Commands log only what is asked for: debug lines, such as those about next runs."""
    if settings.log_level != "debug":
        return NoLog()
    from cadenza.roots.wiring.process import open_log

    return open_log(settings)


@asynccontextmanager
async def _application(settings: Settings) -> AsyncIterator[Application]:
    """An application with the clock and the allowed targets of the server that runs on the database."""
    log, server = _command_log(settings), running_server(settings)
    clock = SystemClock() if server is None else server.clock
    if server is not None:
        settings = server.applied_to(settings)
    async with (
        open_store(settings, ids=TimeOrderedIds(), log=log) as store,
        AsyncExitStack() as stack,
    ):
        yield Application(command_dependencies(settings, store, clock=clock, log=log, stack=stack))
