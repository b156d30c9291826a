"""Authenticates callers and performs operations, with the same checks for every surface."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from cadenza.domain.access.key import Caller
from cadenza.domain.agents.agent_turn import turn_of_token
from cadenza.domain.errors import NotFound
from cadenza.engine.async_helpers import beside_event_loop
from cadenza.engine.next_run_log import ORIGIN
from cadenza.operations.access.key_tokens import caller_of_token, caller_of_turn
from cadenza.operations.arguments import parse_command
from cadenza.operations.context import Dependencies, RequestContext
from cadenza.operations.fields import read_cursor, write_cursor
from cadenza.operations.operation import AnyOperation, View
from cadenza.operations.single_operation import find_operation

if TYPE_CHECKING:  # A command has none.
    from cadenza.operations.idempotency import IdempotentRequest

Result = TypeVar("Result")


class Application:
    """Performs operations for callers: checks scope and arguments, and calls the handler."""

    def __init__(self, dependencies: Dependencies) -> None:
        self.dependencies = dependencies

    async def authenticate(self, token: str) -> Caller | None:
        """The caller of a token; None if it is not valid."""
        if turn_of_token(token) is not None:
            return await caller_of_turn(self.dependencies.store.agent_turns, token)
        return await caller_of_token(self.dependencies.store.keys, token, self.dependencies.clock.now())

    async def ask(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> View:
        """Perform an operation by its name."""
        operation = find_operation(name)
        if operation is None:
            raise NotFound(f"Operation {name} not found.")
        return await self.perform(operation, arguments, caller)

    async def perform(
        self,
        operation: AnyOperation,
        arguments: Mapping[str, Any],
        caller: Caller,
        *,
        idempotent: "IdempotentRequest | None" = None,
    ) -> View:
        """Perform an operation: check the scope, then the arguments, then call the handler."""
        operation.must_be_open_to(caller)
        command = (
            await beside_event_loop(parse_command, operation, arguments)
            if operation.bulk
            else parse_command(operation, arguments)
        )
        if operation.takes_cursor and command.cursor is not None:
            command = command.model_copy(update={"cursor": read_cursor(operation.name, command.cursor)})
        context = RequestContext(self.dependencies, caller, idempotent)
        before = ORIGIN.set(caller.origin)
        try:
            view = await _carry_out(operation, context, command)
        finally:
            ORIGIN.reset(before)
        position: str | None = getattr(view, "next_cursor", None) if operation.gives_cursor else None
        if position is None:
            return view
        return view.model_copy(update={"next_cursor": write_cursor(operation.name, position)})


async def _carry_out(operation: AnyOperation, context: RequestContext, command: Any) -> View:
    """Call the handler, and record what it changes."""
    if operation.audited:
        from cadenza.operations.access.recording import perform_recorded  # noqa: PLC0415 - Reads spare it.

        return await perform_recorded(operation, context, command)
    view: View = await operation.handle(context, command)
    return view


async def in_turn(operation: AnyOperation, function: Callable[..., Result], *arguments: Any) -> Result:
    """What a function returns; for a bulk operation it runs in a thread, so that other requests go on."""
    return await beside_event_loop(function, *arguments) if operation.bulk else function(*arguments)
