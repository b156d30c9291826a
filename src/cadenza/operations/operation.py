"""One operation: its name, scope, command, view, handler and route."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from inspect import cleandoc
from typing import Any, Generic, TypeVar, get_type_hints

from pydantic import ConfigDict

from cadenza.domain.access.key import OPERATOR, Caller, Scope
from cadenza.domain.errors import NotAllowed
from cadenza.domain.scheduling.hint import Rank
from cadenza.operations.context import RequestContext
from cadenza.operations.documented_models import Documented, as_json


class Command(Documented):
    """What an operation takes; what it does not know is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class View(Documented):
    """What an operation answers."""

    model_config = ConfigDict(frozen=True)

    def to_json(self) -> bytes:
        """It as JSON."""
        return as_json(self)


class Nothing(View):
    """Done; there is nothing to tell."""


RANK_HEADER = "Cadenza-Rank"
"""States a lower rank than the caller's, with operations that are ranked."""
USER_AGENT = "cadenza-"
"""What begins the user agent of commands and MCP programs; the name of their surface follows."""
RANKS = [rank.name.lower() for rank in reversed(Rank)]
OK = 200
CREATED = 201
NO_CONTENT = 204

Input = TypeVar("Input", bound=Command)
Output = TypeVar("Output", bound=View)
Handler = Callable[[RequestContext, Input], Awaitable[Output]]


@dataclass(frozen=True, slots=True)
class Route:
    """The REST route. Parts of the path in braces are fields of the command."""

    method: str
    path: str
    status: int = OK

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def has_body(self) -> bool:
        """Whether the fields that are not in the path are in the body; otherwise they are in the query."""
        return self.method not in ("GET", "DELETE")


@dataclass(frozen=True)
class Operation(Generic[Input, Output]):
    """One operation, the same on every surface."""

    name: str
    scope: Scope
    command: type[Input]
    view: type[Output]
    handle: Handler[Input, Output]
    route: Route | None
    """None for what only the commands on the database itself may do."""
    agent: bool = True
    """Whether it is also a tool for agents."""
    shown_once: bool = False
    """Whether its view holds a secret, which is not stored."""
    user: bool = False
    """Whether a caller that acts for one user alone may use it."""
    operator: bool = False
    """Whether only callers of the operator's tenant may use it."""
    calls_out: bool = False
    """Whether it waits for somebody else, such as a target or a model, and not just for the store."""
    keeps_reply: bool = False
    """Whether it calls out, and stores the reply to an idempotent request itself, in its last commit."""
    bulk: bool = False
    """Whether it takes or answers thousands of things at once: they are read and written in a thread."""
    ranked: bool = False
    """Whether the rank of its caller decides what it may change."""
    in_parts: bool = False
    """Whether it changes many things in several commits, so that others wait only briefly."""
    unaudited: str | None = None
    """Why it leaves no audit record, though it writes."""
    turn: bool = False
    """Whether the token of a turn is enough to use it."""

    @cached_property
    def description(self) -> str:
        """What it does: the docstring of its handler."""
        return cleandoc(self.handle.__doc__ or "")

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its command: one object, for every surface."""
        return self.command.model_json_schema()

    @cached_property
    def takes_cursor(self) -> bool:
        """Whether its command may hold the cursor of a page."""
        return "cursor" in self.command.model_fields

    @cached_property
    def gives_cursor(self) -> bool:
        """Whether its view may hold the cursor of the next page."""
        return "next_cursor" in self.view.model_fields

    @property
    def writes(self) -> bool:
        """Whether it changes anything."""
        return self.route is None or (self.route.method != "GET" and self.scope is not Scope.READ)

    @property
    def audited(self) -> bool:
        """Whether it leaves audit records."""
        return self.writes and self.unaudited is None

    def open_to(self, caller: Caller) -> bool:
        """Whether this caller may use it."""
        if caller.turn is not None:
            return self.turn
        own = caller.tenant_id == OPERATOR or not self.operator
        return own and caller.may(self.scope) and (self.user or caller.on_behalf_of is None)

    def must_be_open_to(self, caller: Caller) -> None:
        """Raise NotAllowed, which says why, unless this caller may use it."""
        if caller.turn is not None:
            if not self.turn:
                raise NotAllowed("Not allowed with the token of a turn; use an API key.")
            return
        caller.must(self.scope)
        if caller.on_behalf_of is not None and not self.user:
            raise NotAllowed("Not allowed with a user's token; use an API key.")
        if self.operator and caller.tenant_id != OPERATOR:
            raise NotAllowed(f"Only the operator may do this: the tenant {OPERATOR}.")


AnyOperation = Operation[Any, Any]


def operation(
    route: str | None,
    scope: Scope,
    *,
    status: int = OK,
    agent: bool = True,
    shown_once: bool = False,
    user: bool = False,
    operator: bool = False,
    calls_out: bool = False,
    keeps_reply: bool = False,
    bulk: bool = False,
    ranked: bool = False,
    in_parts: bool = False,
    unaudited: str | None = None,
    turn: bool = False,
) -> Callable[[Handler[Input, Output]], Operation[Input, Output]]:
    """Make an operation of a handler, whose name and annotations give the name, command and view.

    The route is written as `GET /v1/jobs/{job_id}`.
    """

    def decorate(handle: Handler[Input, Output]) -> Operation[Input, Output]:
        hints = get_type_hints(handle)
        method, path = (None, "") if route is None else route.split(" ")
        return Operation(
            name=handle.__name__,
            scope=scope,
            command=hints["command"],
            view=hints["return"],
            handle=handle,
            route=None if method is None else Route(method, path, status),
            agent=agent,
            shown_once=shown_once,
            user=user,
            operator=operator,
            calls_out=calls_out,
            keeps_reply=keeps_reply,
            bulk=bulk,
            ranked=ranked,
            in_parts=in_parts,
            unaudited=unaudited,
            turn=turn,
        )

    return decorate
