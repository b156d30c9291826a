"""Whoever asks: how far they may go, and where their questions are answered."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from cadenza.domain.access.key import Caller
from cadenza.domain.errors import NotAllowed
from cadenza.operations.application import Application
from cadenza.operations.operation import AnyOperation

Ask = Callable[[str, Mapping[str, Any]], Awaitable[Any]]
"""Carry out an operation by its name, and answer with its view as JSON values."""


class Visit(NamedTuple):
    """A caller, and a way to an application."""

    caller: Caller
    ask: Ask
    remedy: str
    """What to do about a scope that is missing, in words."""

    async def perform(self, operation: AnyOperation, arguments: Mapping[str, Any]) -> Any:
        """Carry out an operation, if the caller may; its view as JSON values."""
        if not self.caller.may(operation.scope):
            raise NotAllowed(f"{operation.name} needs the scope {operation.scope}: {self.remedy}.")
        return await self.ask(operation.name, arguments)


def for_application(application: Application, caller: Caller, *, remedy: str) -> Visit:
    """A visit to an application in this process."""

    async def ask(name: str, arguments: Mapping[str, Any]) -> Any:
        view = await application.ask(name, arguments, caller)
        return view.model_dump(mode="json")

    return Visit(caller, ask, remedy)
