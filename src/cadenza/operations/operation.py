"""One operation: its name, who may ask for it, what it takes, what it answers, and where it is found."""

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

Asked = TypeVar("Asked", bound=Command)
Answered = TypeVar("Answered", bound=View)
Handler = Callable[[RequestContext, Asked], Awaitable[Answered]]


@dataclass(frozen=True, slots=True)
class Route:
    """Where REST finds it. Parts of the path in braces are fields of the command."""

    method: str
    path: str
    status: int = 200

    @property
    def has_body(self) -> bool:
        """Do the fields that are not in the path stand in a body? Else they stand in the query."""
        return self.method not in ("GET", "DELETE")


@dataclass(frozen=True)
class Operation(Generic[Asked, Answered]):
    """One thing that can be asked for, the same on every surface."""

    name: str
    scope: Scope
    command: type[Asked]
    view: type[Answered]
    handle: Handler[Asked, Answered]
    route: Route | None
    """None for what only the machine's own operator may do."""
    agent: bool = True
    """Whether it is a tool for agents, too."""
    shown_once: bool = False
    """Whether its answer holds a secret, which is kept nowhere."""
    user: bool = False
    """Whether somebody who speaks for one user alone may ask for it, too."""

    @cached_property
    def description(self) -> str:
        """What it does, in words."""
        return cleandoc(self.handle.__doc__ or "")

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its command: one object, for every surface."""
        return self.command.model_json_schema()

    @property
    def writes(self) -> bool:
        """Does it change anything?"""
        return self.route is None or (self.route.method != "GET" and self.scope is not Scope.READ)

    def open_to(self, caller: Caller) -> bool:
        """May this caller ask for it?"""
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
) -> Callable[[Handler[Asked, Answered]], Operation[Asked, Answered]]:
    """Make an operation of its handler, which tells the name, the command and the view.

    The route is written as `GET /v1/jobs/{job_id}`.
    """

    def made(handle: Handler[Asked, Answered]) -> Operation[Asked, Answered]:
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

    return made
