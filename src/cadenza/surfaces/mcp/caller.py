"""The caller of an MCP request: their scopes, and how their operations are carried out."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

import orjson

from cadenza.domain.access.key import Caller, Surface
from cadenza.domain.errors import InvalidRequest, NotAllowed
from cadenza.domain.scheduling.hint import Rank, lowered
from cadenza.operations.application import Application, in_turn
from cadenza.operations.operation import AnyOperation
from cadenza.operations.table import BY_NAME

LONGEST_ANSWER = 1 << 19
"""To pass on a longer one would hold up everybody, and no model would read it."""
Ask = Callable[[str, Mapping[str, Any]], Awaitable[Any]]
"""Carry out an operation by its name, and answer with its view as JSON values."""


class McpCaller(NamedTuple):
    """A caller, and a function that carries out operations for them."""

    caller: Caller
    ask: Ask
    remedy: str
    """What to do about a missing scope, in words."""

    async def perform(self, operation: AnyOperation, arguments: Mapping[str, Any]) -> Any:
        """Carry out an operation, if the caller may; its view as JSON values."""
        if self.caller.turn is None and not self.caller.may(operation.scope):
            raise NotAllowed(f"{operation.name} needs the scope {operation.scope}: {self.remedy}.")
        return await self.ask(operation.name, arguments)


def application_caller(application: Application, caller: Caller, *, remedy: str) -> McpCaller:
    """A caller of an application in this process; what it steers has the rank of a model."""
    model = caller._replace(origin=lowered(caller.origin, Rank.LLM), surface=Surface.MCP)

    async def ask(name: str, arguments: Mapping[str, Any]) -> Any:
        view = await application.ask(name, arguments, model)
        text = await in_turn(BY_NAME[name], view.__pydantic_serializer__.to_json, view)
        if len(text) > LONGEST_ANSWER:
            message = f"The answer has {len(text):,} bytes, and may have {LONGEST_ANSWER:,}: ask for less."
            raise InvalidRequest(message)
        return orjson.loads(text)

    return McpCaller(caller, ask, remedy)


EXTRA = "MCP takes the extra mcp, which is not installed."


def missing_extra(problem: Exception) -> bool:
    """Is the error that the `mcp` library is not installed?"""
    return isinstance(problem, ModuleNotFoundError) and (problem.name or "").partition(".")[0] == "mcp"
