"""Authenticates callers and performs operations, with the same checks for every surface."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from cadenza.domain.access.key import ApiKey, Caller
from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import Fault, InvalidRequest, NotAllowed, NotFound
from cadenza.domain.planning.rules.rule import STEPS
from cadenza.operations.access.caller_cache import caller_of
from cadenza.operations.access.keys import valid_key
from cadenza.operations.context import Dependencies, RequestContext
from cadenza.operations.operation import AnyOperation, View
from cadenza.operations.table import BY_NAME

Model = TypeVar("Model", bound=BaseModel)

UNION_TAGS = frozenset({"every", "cron", "once", "http", "callable", "prompt", *STEPS})
UNION_FIELDS = frozenset({"baseline", "target", "then", "relax"})
"""Fields that hold one of several models, told apart by their kind."""


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
        view: View = await operation.handle(RequestContext(self.dependencies, caller), command)
        return view


def parse_command(operation: AnyOperation, arguments: Mapping[str, Any]) -> Any:
    """The command of the arguments; InvalidRequest with every invalid field."""
    return validated(operation.command, arguments)


def validated(model: type[Model], arguments: Mapping[str, Any]) -> Model:
    """A model of the arguments; InvalidRequest with every invalid field."""
    try:
        return model.model_validate(arguments)
    except ValidationError as problem:
        faults = [Fault(_path(error["loc"]), _sentence(error)) for error in problem.errors()]
        first = faults[0]
        raise InvalidRequest(f"{first.field}: {first.message}", first.field, faults) from None


def _path(location: tuple[int | str, ...]) -> str:
    """The path of a field as the caller wrote it, without the tags of unions."""
    pairs = zip((None, *location), location, strict=False)
    parts = [str(part) for before, part in pairs if not (before in UNION_FIELDS and part in UNION_TAGS)]
    return ".".join(parts) or "body"


def _sentence(error: Any) -> str:
    text = error["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."
