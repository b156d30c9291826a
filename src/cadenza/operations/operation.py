"""One operation: its name, scope, command, view, handler and route."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from inspect import cleandoc
from typing import Any, Generic, TypeVar, get_type_hints

from pydantic import ConfigDict

from cadenza.domain.access.key import Caller, Scope
from cadenza.operations.context import RequestContext
from cadenza.operations.documented_models import Documented


class Command(Documented):
    """What an operation takes; what it does not know is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class View(Documented):
    """What an operation answers."""

    model_config = ConfigDict(frozen=True)


class Nothing(View):
    """Done; there is nothing to tell."""


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
    status: int = 200

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
    """None for what only the operator of the machine may do."""
    agent: bool = True
    """Whether it is also a tool for agents."""
    shown_once: bool = False
    """Whether its view holds a secret, which is not stored."""
    user: bool = False
    """Whether a caller that acts for one user alone may use it."""

    @cached_property
    def description(self) -> str:
        """What it does: the docstring of its handler."""
        return cleandoc(self.handle.__doc__ or "")

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its command: one object, for every surface."""
        return self.command.model_json_schema()

    @property
    def writes(self) -> bool:
        """Whether it changes anything."""
        return self.route is None or (self.route.method != "GET" and self.scope is not Scope.READ)

    def open_to(self, caller: Caller) -> bool:
        """Whether this caller may use it."""
        return caller.may(self.scope) and (self.user or caller.on_behalf_of is None)


AnyOperation = Operation[Any, Any]


def operation(
    route: str | None,
    scope: Scope,
    *,
    status: int = 200,
    agent: bool = True,
    shown_once: bool = False,
    user: bool = False,
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
        )

    return decorate
