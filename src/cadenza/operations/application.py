"""Authenticates callers and performs operations, with the same checks for every surface."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from cadenza.domain.access.key import Caller
from cadenza.domain.errors import InvalidRequest, NotAllowed, NotFound
from cadenza.domain.field_faults import WHOLE_DOCUMENT, refuse_fields
from cadenza.engine.async_helpers import beside_event_loop
from cadenza.engine.next_run_log import ORIGIN
from cadenza.operations.access.keys import caller_of_token
from cadenza.operations.access.recording import perform_recorded
from cadenza.operations.context import Dependencies, IdempotentRequest, RequestContext
from cadenza.operations.fields import read_cursor, write_cursor
from cadenza.operations.operation import AnyOperation, View
from cadenza.operations.single_operation import find_operation

Model = TypeVar("Model", bound=BaseModel)
Result = TypeVar("Result")
MOST_EXAMINED = 10_000
"""Of a document with more faults none is named: to list them would take longer than to refuse it."""


class Application:
    """Performs operations for callers: checks scope and arguments, and calls the handler."""

    def __init__(self, dependencies: Dependencies) -> None:
        self.dependencies = dependencies

    async def authenticate(self, token: str) -> Caller | None:
        """The caller of a token; None if it is not valid."""
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
        idempotent: IdempotentRequest | None = None,
    ) -> View:
        """Perform an operation: check the scope, then the arguments, then call the handler."""
        caller.must(operation.scope)
        if caller.on_behalf_of is not None and not operation.user:
            raise NotAllowed("Not allowed with a user's token; use an API key.")
        command = (
            await beside_event_loop(parse_command, operation, arguments)
            if operation.bulk
            else parse_command(operation, arguments)
        )
        if operation.takes_cursor and command.cursor is not None:
            command = command.model_copy(update={"cursor": read_cursor(operation.name, command.cursor)})
        context, perform = RequestContext(self.dependencies, caller, idempotent), perform_recorded
        before = ORIGIN.set(caller.origin)
        try:
            view: View = await (
                perform(operation, context, command)
                if operation.audited
                else operation.handle(context, command)
            )
        finally:
            ORIGIN.reset(before)
        position: str | None = getattr(view, "next_cursor", None) if operation.gives_cursor else None
        if position is None:
            return view
        return view.model_copy(update={"next_cursor": write_cursor(operation.name, position)})


async def in_turn(operation: AnyOperation, function: Callable[..., Result], *arguments: Any) -> Result:
    """What a function returns; for a bulk operation it runs in a thread, so that other requests go on."""
    return await beside_event_loop(function, *arguments) if operation.bulk else function(*arguments)


def parse_command(operation: AnyOperation, arguments: Mapping[str, Any]) -> Any:
    """The command of the arguments; InvalidRequest with the invalid fields."""
    path = "" if operation.route is None else operation.route.path
    return validated(operation.command, arguments, path=path)


def validated(model: type[Model], arguments: Mapping[str, Any], *, path: str = "") -> Model:
    """A model of the arguments, of which some may stand in a path; InvalidRequest with the invalid fields."""
    try:
        checked: Model = model.__pydantic_validator__.validate_python(arguments)
    except ValidationError as problem:
        if problem.error_count() > MOST_EXAMINED:
            message = f"The document has {problem.error_count():,} faults, too many to name one."
            raise InvalidRequest(message, WHOLE_DOCUMENT) from None
        errors = problem.errors(include_url=False)
        elsewhere = [name for name in arguments if f"{{{name}}}" in path]
        raise refuse_fields(_schema(model), arguments, errors, elsewhere) from None
    return checked


@cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()
