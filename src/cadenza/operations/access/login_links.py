"""The operation that makes login links of the dashboard, each for one login."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from cadenza.domain.access.key import Scope
from cadenza.domain.errors import NotAllowed
from cadenza.operations.access import sessions
from cadenza.operations.context import RequestContext
from cadenza.operations.operation import CREATED, Command, View, operation


class CreateLoginLink(Command):
    """A new login link."""

    scopes: Annotated[list[Scope], Field(min_length=1, max_length=len(Scope))] = [Scope.ADMIN]
    """What the browser may do: `read`, `steer`, `write`, `admin`; each includes those before it."""


class LoginLinkView(View):
    """A login link, which is shown this once."""

    path: str
    """Behind the address of the server. The code is in the fragment, which browsers do not send."""
    scopes: list[Scope]
    expires_at: datetime


@operation("POST /v1/login-links", Scope.ADMIN, status=CREATED, agent=False, shown_once=True)
async def create_login_link(context: RequestContext, command: CreateLoginLink) -> LoginLinkView:
    """Create a one-time link that logs a browser in to the dashboard, valid for an hour.

    The login may do no more than who creates the link, and ends with the key that created it.
    """
    if not all(context.caller.may(scope) for scope in command.scopes):
        raise NotAllowed("A link cannot have more scopes than the key that creates it.")
    code, link = await sessions.new_link(
        context.dependencies, context.caller._replace(scopes=frozenset(command.scopes))
    )
    scopes = [scope for scope in Scope if scope in link.scopes]
    return LoginLinkView(path=f"/login#{code}", scopes=scopes, expires_at=link.expires_at)


LOGIN_LINKS = (create_login_link,)
