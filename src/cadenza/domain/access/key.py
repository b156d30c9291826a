"""API keys, their scopes, and the caller of a request."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from cadenza.domain.errors import NotAllowed
from cadenza.domain.validation import convert_to_utc


class Scope(StrEnum):
    """The scopes of keys; each includes those before it."""

    READ = "read"
    STEER = "steer"
    WRITE = "write"
    ADMIN = "admin"


OPERATOR = "default"
"""The tenant of who operates the installation."""
RANK = {scope: rank for rank, scope in enumerate(Scope)}
INCLUDED_IN = {scope: frozenset(own for own in Scope if RANK[own] >= RANK[scope]) for scope in Scope}
"""The scopes that include a scope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """An API key without its secret, of which only a digest is stored."""

    id: str
    tenant_id: str
    name: str
    scopes: frozenset[Scope] = field(default_factory=frozenset)
    created_at: datetime
    expires_at: datetime | None = None
    user_id: str | None = None
    """The only user that it acts for; None for a key of the tenant itself."""
    made_by: str | None = None
    """The key with which this token of a user was made, and with which it ends."""

    def __post_init__(self) -> None:
        convert_to_utc(self, "created_at", "expires_at")

    def valid(self, now: datetime) -> bool:
        """Whether it has not expired."""
        return self.expires_at is None or now < self.expires_at


class OnBehalfOf(NamedTuple):
    """The user a caller acts for; if it is an agent, with its turn."""

    user_id: str
    agent_id: str | None = None
    turn: str | None = None
    scheduled: bool = False
    """Whether a schedule started the turn, and not the user."""
    may_schedule: bool = True
    schedule_id: str | None = None
    """The schedule that started the turn."""
    reads_from_outside: bool = False
    """Whether the turn was given what a probe answered, which may try to talk the agent into something."""


class TurnToken(NamedTuple):
    """The turn that a caller may answer by the turn's own token, and the digest of that token."""

    turn_id: str
    digest: str


KEY = "key:"


class Surface(StrEnum):
    """Where a request came from; commands and MCP programs tell it to a server themselves."""

    REST = "rest"
    CLI = "cli"
    MCP = "mcp"
    DASHBOARD = "dashboard"
    AGENT = "agent"
    PROGRAM = "program"


class Caller(NamedTuple):
    """Who sends a request: the tenant, the scopes, and the origin under which changes are recorded."""

    tenant_id: str
    scopes: frozenset[Scope]
    origin: str
    on_behalf_of: OnBehalfOf | None = None
    """Set for a caller that acts for one user alone."""
    name: str | None = None
    """The name of its key, if it has one."""
    surface: Surface = Surface.REST
    turn: TurnToken | None = None
    """Set for a caller with the token of a turn, who may answer that turn and do nothing else."""

    def may(self, scope: Scope) -> bool:
        """Whether one of its scopes includes this one."""
        return not self.scopes.isdisjoint(INCLUDED_IN[scope])

    def must(self, scope: Scope) -> None:
        """Raise NotAllowed without this scope."""
        if not self.may(scope):
            raise NotAllowed(f"This needs an API key with the scope {scope}.")


def caller_of(key: ApiKey) -> Caller:
    """The caller with a key."""
    on_behalf_of = None if key.user_id is None else OnBehalfOf(key.user_id)
    return Caller(key.tenant_id, key.scopes, origin_of(key.id), on_behalf_of, key.name)


def origin_of(key_id: str) -> str:
    """The origin under which the changes of a key's holder are recorded."""
    return f"{KEY}{key_id}"


def key_id_of(origin: str) -> str | None:
    """The key of an origin; None if it is not that of a key's holder."""
    before, found, key_id = origin.rpartition(KEY)
    return key_id if found and before[-1:] in ("", ":") else None
