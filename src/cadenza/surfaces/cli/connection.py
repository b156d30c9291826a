"""Options that all commands share: the server or database, the tenant, and JSON output."""

from collections.abc import Mapping
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
