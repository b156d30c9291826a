"""Authenticates callers and performs operations, with the same checks for every surface."""

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from cadenza.domain.access.key import ApiKey, Caller
from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import NotAllowed, NotFound
from cadenza.domain.field_faults import refuse_fields
from cadenza.operations.access.caller_cache import caller_of
from cadenza.operations.access.keys import valid_key
from cadenza.operations.context import Dependencies, RequestContext
from cadenza.operations.fields import read_cursor, write_cursor
from cadenza.operations.operation import AnyOperation, View
from cadenza.operations.table import BY_NAME

Model = TypeVar("Model", bound=BaseModel)


class Application:
    """Performs operations for callers: checks scope and arguments, and calls the handler."""

    def __init__(self, dependencies: Dependencies) -> None:
        self.dependencies = dependencies

    async def authenticate(self, token: str) -> Caller | None:
        """The caller of a token, from the cache if possible; None if it is not valid."""
        cache, now = self.dependencies.caller_cache, self.dependencies.clock.now()
        caller = cache.get(token, now)
        if caller is not None:
            return caller
        version = cache.version
        key = await valid_key(self.dependencies.store.keys, token, now)
        if key is None or not await self._user_exists(key):
            return None
        cache.add_key(token, key, now=now, version=version)
        return caller_of(key)

    async def _user_exists(self, key: ApiKey) -> bool:
        """Whether the user that a key acts for still exists; True for a key of the tenant."""
        if key.user_id is None:
            return True
        try:
            await self.dependencies.store.users.user(UserKey(key.tenant_id, key.user_id))
        except NotFound:
            return False
        return True

    async def ask(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> View:
        """Perform an operation by its name."""
        operation = BY_NAME.get(name)
        if operation is None:
            raise NotFound(f"There is no operation {name}.")
        return await self.perform(operation, arguments, caller)

    async def perform(self, operation: AnyOperation, arguments: Mapping[str, Any], caller: Caller) -> View:
        """Perform an operation: check the scope, then the arguments, then call the handler."""
        caller.must(operation.scope)
        if not operation.open_to(caller):
            raise NotAllowed("A user's token cannot do this; it needs a key.")
        command = parse_command(operation, arguments)
        if getattr(command, "cursor", None) is not None:
            command = command.model_copy(update={"cursor": read_cursor(operation.name, command.cursor)})
        view: View = await operation.handle(RequestContext(self.dependencies, caller), command)
        position: str | None = getattr(view, "next_cursor", None)
        if position is None:
            return view
        return view.model_copy(update={"next_cursor": write_cursor(operation.name, position)})


def parse_command(operation: AnyOperation, arguments: Mapping[str, Any]) -> Any:
    """The command of the arguments; InvalidRequest with the invalid fields."""
    return validated(operation.command, arguments)


def validated(model: type[Model], arguments: Mapping[str, Any]) -> Model:
    """A model of the arguments; InvalidRequest with the invalid fields."""
    try:
        return model.model_validate(arguments)
    except ValidationError as problem:
        raise refuse_fields(_schema(model), arguments, problem.errors(include_url=False)) from None


@cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()
