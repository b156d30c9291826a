"""The connection of a process to its database: calls take time, and may be lost on the way there or back."""

from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from dataclasses import fields
from datetime import datetime
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, NamedTuple, Protocol

from tests.simulation.whole_system.databases import complete
from tests.simulation.whole_system.simulated_world import SimulatedWorld

from cadenza.domain.errors import CadenzaError, Unavailable
from cadenza.ports.scheduling import Wakeup
from cadenza.ports.store import Store
from cadenza.testing.simulated_process import SimulatedProcess

IN_A_COMMIT: ContextVar[bool] = ContextVar("in a commit", default=False)
"""Whether the database is just working: what is called meanwhile is part of the same commit."""


class Fate(NamedTuple):
    """What becomes of a call."""

    there_s: float
    back_s: float
    is_executed: bool = True
    is_answered: bool = True
    """Otherwise the caller is told, after `back_s`, that the database is unavailable."""


class Fates(Protocol):
    """Decides what becomes of calls."""

    def fate(self, process: SimulatedProcess) -> Fate:
        """The fate of the next call of a process."""
        ...

    def loses_notification(self, process: SimulatedProcess) -> bool:
        """Whether a notification does not reach a process."""
        ...


class StoreCall(NamedTuple):
    """A call of one method of a store."""

    name: str
    """As `endpoints.claim_due`."""
    method: Callable[..., Any]
    arguments: tuple[Any, ...]
    named: dict[str, Any]
    process: SimulatedProcess

    def run(self) -> Any:
        """Execute it, as one commit."""
        return complete(self.method(*self.arguments, **self.named))


class CommitChecks(Protocol):
    """Executes calls, and looks at what they change."""

    def execute(self, call: StoreCall) -> Any:
        """Execute a call, as one commit."""
        ...

    async def execute_within(self, call: StoreCall) -> Any:
        """Execute a call that is part of a commit."""
        ...


class StoreConnection:
    """One process's way to the database."""

    def __init__(
        self,
        world: SimulatedWorld,
        process: SimulatedProcess,
        *,
        fates: Fates,
        checks: CommitChecks,
        has_clock: bool,
    ) -> None:
        self._world = world
        self._process = process
        self._fates = fates
        self._checks = checks
        self._has_clock = has_clock

    def over(self, store: Store) -> Store:
        """The store, as the process sees it."""
        ports = {one.name: _Port(self, one.name, getattr(store, one.name)) for one in fields(Store)}
        return Store(**ports)

    async def call(self, name: str, method: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Call a method over the network; within a commit, at once."""
        call = StoreCall(name, method, arguments, named, self._process)
        if IN_A_COMMIT.get():
            return await self._checks.execute_within(call)
        fate, answer = self._fates.fate(self._process), self._world.loop.create_future()
        self._world.later(fate.there_s, self._arrive, call, copy_context(), fate, answer)
        if name != "daily.pending_days":
            return await answer
        return await self._timed(answer)

    async def _timed(self, answer: Any) -> Any:
        """The answer; how long it took is added to what its process has waited."""
        began_s, waited = self._world.loop.time(), self._world.read_s
        try:
            return await answer
        finally:
            waited[self._process] = waited.get(self._process, 0.0) + self._world.loop.time() - began_s

    async def time(self) -> datetime | None:
        """What the clock of the database shows; None on one machine."""
        return self._world.now() if self._has_clock else None

    def listen(self, wakeup: Wakeup) -> Wakeup:
        """A wake-up of which notifications may be lost."""
        return _LossyWakeup(wakeup, partial(self._fates.loses_notification, self._process))

    def _arrive(self, call: StoreCall, context: Context, fate: Fate, answer: Any) -> None:
        is_executed = fate.is_executed and (self._process.alive or self._world.loop.random.random() < 0.5)
        result: Any = None
        problem: Exception | None = None
        try:
            result = context.run(self._commit, call) if is_executed else None
        except CadenzaError as refused:
            problem = refused
        except Exception as bug:  # noqa: BLE001 - the caller gets it, as from the real store
            self._world.violation(f"{call.process.name} {call.name} raised {bug!r}")
            problem = bug
        said = "not executed" if not is_executed else _brief(result if problem is None else problem)
        lost = "" if fate.is_answered else ", answer lost"
        self._world.note(call.process.name, f"{call.name}: {said}{lost}")
        if not fate.is_answered:
            problem = Unavailable("The database does not answer.")
        self._world.later(fate.back_s, _answer, answer, result, problem)

    def _commit(self, call: StoreCall) -> Any:
        IN_A_COMMIT.set(True)
        return self._checks.execute(call)


class _Port:
    """One of the small stores over a connection."""

    def __init__(self, connection: StoreConnection, name: str, port: Any) -> None:
        self._connection = connection
        self._name = name
        self._port = port

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)
        if name == "listen":
            found: Any = lambda: self._connection.listen(method())  # noqa: E731
        elif name == "database_time":
            found = partial(self._connection.call, "endpoints.database_time", self._connection.time)
        elif iscoroutinefunction(method):
            found = partial(self._connection.call, f"{self._name}.{name}", method)
        else:
            found = method
        self.__dict__[name] = found
        return found


class _LossyWakeup:
    def __init__(self, wakeup: Wakeup, loses: Callable[[], bool]) -> None:
        self._wakeup = wakeup
        self._loses = loses

    async def wait(self) -> Any:
        while True:
            tenants = await self._wakeup.wait()
            if not self._loses():
                return tenants


def _answer(answer: Any, result: Any, problem: Exception | None) -> None:
    if answer.done():
        return
    if problem is None:
        answer.set_result(result)
    else:
        answer.set_exception(problem)


def _brief(result: Any) -> str:
    if isinstance(result, Exception):
        return type(result).__name__
    if isinstance(result, list | set | dict | tuple):
        return f"{len(result)}"
    return "done" if result is None else type(result).__name__
