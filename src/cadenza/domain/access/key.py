"""Who may do what: keys, their scopes, and the caller behind a request."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from cadenza.domain.errors import NotAllowed
from cadenza.domain.validation import convert_to_utc


class Scope(StrEnum):
    """What a key allows; each includes those before it."""

    READ = "read"
    STEER = "steer"
    WRITE = "write"
    ADMIN = "admin"


RANK = {scope: rank for rank, scope in enumerate(Scope)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key as it may be shown: all but its secret, of which only a digest is kept."""

    id: str
    tenant_id: str
    name: str
    scopes: frozenset[Scope] = field(default_factory=frozenset)
    created_at: datetime
    expires_at: datetime | None = None
    user_id: str | None = None
    """The user for whom alone it speaks; None for a key of the tenant itself."""

    def __post_init__(self) -> None:
        convert_to_utc(self, "created_at", "expires_at")

    def valid(self, now: datetime) -> bool:
        """Has it not run out?"""
        return self.expires_at is None or now < self.expires_at


class OnBehalfOf(NamedTuple):
    """For which user somebody speaks; and, if it is an agent, in which turn."""

    user_id: str
    agent_id: str | None = None
    turn: str | None = None
    scheduled: bool = False
    """Whether a schedule started the turn, and not the user."""
    may_schedule: bool = True


class Caller(NamedTuple):
    """Whoever asks: in the name of which tenant, with which scopes, and as what it is recorded."""

    tenant_id: str
    scopes: frozenset[Scope]
    origin: str
    on_behalf_of: OnBehalfOf | None = None
    """Set for whoever speaks for one user alone."""

    def may(self, scope: Scope) -> bool:
        """Does one of its scopes include this one?"""
        return any(RANK[held] >= RANK[scope] for held in self.scopes)

    def must(self, scope: Scope) -> None:
        """Refuse a caller without this scope."""
        if not self.may(scope):
            raise NotAllowed(f"This needs a key with the scope {scope}.")
