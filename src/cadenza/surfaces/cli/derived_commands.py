"""Commands that ask one operation and print its answer, made from the table of operations."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from inspect import Parameter, Signature
from typing import Any

from cadenza.surfaces.cli.connection import AS_CONFIGURED, CliOptions, OperationClient
from cadenza.surfaces.cli.lookup import find_id, find_one
from cadenza.surfaces.cli.paging import FIRST_PAGE, Paging, fetch_pages
from cadenza.surfaces.cli.parameters import ARGUMENTS, OPTIONS, AtRank, FieldParameter

Fields = dict[str, FieldParameter]
Answer = Callable[..., int]


class DerivedCommand:
    """A command that asks one operation, declared by the operation's name.

    Fields in the operation's path become arguments, a paged list takes the options of
    paging, and the help is the operation's own description. `output/views.py` has what
    people see.
    """

    def __init__(
        self, operation: str, example: str = "", *, options: tuple[str, ...] = (), about: str | None = None
    ) -> None:
        self.operation = operation
        self.example = example
        self._options = options
        self._about = about

    def build(self, answer: Answer) -> Callable[..., int]:
        """The function that cyclopts reads; `answer` takes a connection, a request and what to print."""
        from cadenza.operations.fields import Paged
        from cadenza.operations.single_operation import get_operation

        operation = get_operation(self.operation)
        fields = self._fields(operation.route.path if operation.route else "")
        paged = issubclass(operation.command, Paged)
        parameters = _parameters(fields, paged=paged, ranked=operation.ranked)
        signature = Signature([*parameters], return_annotation=int)

        def command(*arguments: Any, **options: Any) -> int:
            bound = signature.bind(*arguments, **options)
            bound.apply_defaults()
            words = bound.arguments
            connection, paging = words.pop("connection"), words.pop("paging", None)
            connection = replace(connection, rank=words.pop("rank", None))

            async def request(client: OperationClient) -> Any:
                return await self._ask(client, fields, words, paging)

            return answer(connection, request, self.operation, words)

        command.__signature__ = signature  # type: ignore[attr-defined]
        command.__doc__ = self._about or operation.description.partition("\n\n")[0]
        return command

    def _fields(self, path: str) -> Fields:
        inside = {name: one for name, one in ARGUMENTS.items() if f"{{{name}}}" in path}
        return inside | {name: OPTIONS[name] for name in self._options}

    async def _ask(
        self, client: OperationClient, fields: Fields, words: dict[str, Any], paging: Paging | None
    ) -> Any:
        arguments: dict[str, Any] = {}
        for name, field in fields.items():
            word = words[field.name]
            if word is None or word == ():
                continue
            if field.resource is None:
                arguments[name] = list(word) if isinstance(word, tuple) else word
            elif field.resource.get == self.operation:
                return await find_one(client, field.resource, word)
            else:
                arguments[name] = await find_id(client, field.resource, word)
        if paging is None:
            return await client.ask(self.operation, arguments)
        return await fetch_pages(client, self.operation, arguments, paging=paging)


def _parameters(fields: Fields, *, paged: bool, ranked: bool) -> Iterator[Parameter]:
    for field in fields.values():
        required = field.default is Parameter.empty
        kind = Parameter.POSITIONAL_ONLY if required else Parameter.KEYWORD_ONLY
        yield Parameter(field.name, kind, default=field.default, annotation=field.type)
    shared: dict[str, tuple[Any, Any]] = {"paging": (Paging, FIRST_PAGE)} if paged else {}
    shared |= {"rank": (AtRank, None)} if ranked else {}
    for name, (type_, default) in {**shared, "connection": (CliOptions, AS_CONFIGURED)}.items():
        yield Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=type_)
