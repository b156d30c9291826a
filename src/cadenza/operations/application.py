"""The one door: every surface asks here, and what is checked for one is checked for all."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from cadenza.domain.access.key import ApiKey, Caller
from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import Fault, InvalidRequest, NotAllowed, NotFound
from cadenza.domain.planning.rules.rule import STEPS
from cadenza.operations.access.caller_cache import caller_of
from cadenza.operations.access.keys import opening
from cadenza.operations.context import Dependencies, RequestContext
from cadenza.operations.operation import AnyOperation, View
from cadenza.operations.table import BY_NAME

Spelled = TypeVar("Spelled", bound=BaseModel)

KINDS = frozenset({"every", "cron", "once", "http", "callable", "prompt", *STEPS})
KINDRED = frozenset({"baseline", "target", "then", "relax"})
"""Parts that are of one kind or another."""


class Application:
    """Takes what is asked, checks the caller and the words, and has it done."""

    def __init__(self, dependencies: Dependencies) -> None:
        self.dependencies = dependencies

    async def admit(self, token: str) -> Caller | None:
        """The caller behind a key; who came in a moment ago is not looked up again."""
        caller_cache, now = self.dependencies.caller_cache, self.dependencies.clock.now()
        caller = caller_cache.known(token, now)
        if caller is not None:
            return caller
        turn = caller_cache.turn
        key = await opening(self.dependencies.store.keys, token, now)
        if key is None or not await self._is_there(key):
            return None
        caller_cache.remember(token, key, now=now, turn=turn)
        return caller_of(key)

    async def _is_there(self, key: ApiKey) -> bool:
        """Is the user still there for whom a key speaks?"""
        if key.user_id is None:
            return True
        try:
            await self.dependencies.store.users.user(UserKey(key.tenant_id, key.user_id))
        except NotFound:
            return False
        return True

    async def ask(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> View:
        """Carry out an operation by its name."""
        operation = BY_NAME.get(name)
        if operation is None:
            raise NotFound(f"There is no operation {name}.")
        return await self.perform(operation, arguments, caller)

    async def perform(self, operation: AnyOperation, arguments: Mapping[str, Any], caller: Caller) -> View:
        """Carry out an operation: first may they, then do the words make sense, then do it."""
        caller.must(operation.scope)
        if not operation.open_to(caller):
            raise NotAllowed("A user's token cannot do this; it needs a key.")
        command = understood(operation, arguments)
        answer: View = await operation.handle(RequestContext(self.dependencies, caller), command)
        return answer


def understood(operation: AnyOperation, arguments: Mapping[str, Any]) -> Any:
    """The command that the arguments spell, or every field at fault."""
    return spelled(operation.command, arguments)


def spelled(model: type[Spelled], words: Mapping[str, Any]) -> Spelled:
    """What words spell; InvalidRequest with every field at fault if they do not spell it."""
    try:
        return model.model_validate(words)
    except ValidationError as problem:
        faults = [Fault(_path(error["loc"]), _sentence(error)) for error in problem.errors()]
        first = faults[0]
        raise InvalidRequest(f"{first.field}: {first.message}", first.field, faults) from None


def _path(location: tuple[int | str, ...]) -> str:
    """Where the fault is, as the caller wrote it: the kind of a part is no part of the way."""
    pairs = zip((None, *location), location, strict=False)
    named = [str(part) for before, part in pairs if not (before in KINDRED and part in KINDS)]
    return ".".join(named) or "body"


def _sentence(error: Any) -> str:
    text = error["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."
