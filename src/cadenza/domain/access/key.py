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


RANK = {scope: rank for rank, scope in enumerate(Scope)}


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


class Caller(NamedTuple):
    """Who sends a request: the tenant, the scopes, and the origin under which changes are recorded."""

    tenant_id: str
    scopes: frozenset[Scope]
    origin: str
    on_behalf_of: OnBehalfOf | None = None
    """Set for a caller that acts for one user alone."""

    def may(self, scope: Scope) -> bool:
        """Whether one of its scopes includes this one."""
        return any(RANK[own] >= RANK[scope] for own in self.scopes)

    def must(self, scope: Scope) -> None:
        """Raise NotAllowed without this scope."""
        if not self.may(scope):
            raise NotAllowed(f"This needs a key with the scope {scope}.")
