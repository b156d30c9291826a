"""Options that all commands share: the server or database, the tenant, and JSON output."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol

from cyclopts import Group, Parameter

WHERE = Group("Where and how", sort_key=1)
Server = Annotated[
    str | None,
    Parameter(help="Ask this server, as CADENZA_SERVER does; an empty one is the database itself."),
]
Key = Annotated[
    str | None,
    Parameter(help="The key for the server; CADENZA_KEY keeps it out of the list of processes."),
]
Tenant = Annotated[
    str | None, Parameter(help="Whose things are meant on the database itself; default is `default`.")
]


@Parameter(name="*", group=WHERE)
@dataclass(frozen=True, kw_only=True)
class CliOptions:
    """Where a command is carried out (database or server), and how it prints (text or JSON)."""

    json: Annotated[bool, Parameter(help="Print one JSON document.")] = False
    server: Server = None
    key: Key = field(default=None, repr=False)
    tenant: Tenant = None
    rank: Annotated[str | None, Parameter(parse=False, show=False)] = None
    """The rank of what it steers, if it is to count less than a person's word."""
    served: Annotated[bool, Parameter(parse=False)] = False
    """Whether it asks only a database that a server runs on."""


AS_CONFIGURED = CliOptions()
WITH_VALUE = frozenset({"--server", "--key", "--tenant"})


def options_last(words: Sequence[str]) -> list[str]:
    """A command line with the shared options that stand before the command moved to its end.

    A command that takes arguments as they are, behind `--`, gets them before it.
    """
    begin = 0
    while begin < len(words):
        name, equals, _ = words[begin].partition("=")
        if name in WITH_VALUE and (equals or begin + 1 < len(words)):
            begin += 1 if equals else 2
        elif words[begin] == "--json":
            begin += 1
        else:
            break
    moved, rest = words[:begin], words[begin:]
    end = rest.index("--") if "--" in rest else len(rest)
    return [*rest[:end], *moved, *rest[end:]] if rest else list(words)


class OperationClient(Protocol):
    """Carries out operations, on the database or on a server."""

    async def ask(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """The operation's view as JSON values; both kinds of client raise the same errors."""
        ...


class ClientOpener(Protocol):
    """Opens a client."""

    def __call__(self, connection: CliOptions) -> AbstractAsyncContextManager[OperationClient]:
        """A client that is closed when the context ends."""
        ...
