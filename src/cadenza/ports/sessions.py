"""Sessions of people at the dashboard, and the links that open one."""

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

from cadenza.domain.access.key import Scope


class Pass(StrEnum):
    """What a secret is good for."""

    LINK = "link"
    """Opening one session, once."""
    SESSION = "session"


class Session(NamedTuple):
    """What a secret opens, kept under its digest; the secret itself is nowhere."""

    digest: bytes
    kind: Pass
    tenant_id: str
    scopes: frozenset[Scope]
    created_at: datetime
    expires_at: datetime
    key_id: str | None = None
    """The key that it was opened with: it ends with that key."""


class SessionStore(Protocol):
    """Sessions by the digests of their secrets."""

    async def open_session(self, session: Session) -> None:
        """Keep a session, and forget those that had run out when it was made."""
        ...

    async def session(self, digest: bytes) -> Session | None:
        """What a secret opens, also if it has run out."""
        ...

    async def end_session(self, digest: bytes) -> Session | None:
        """Forget what a secret opens, and tell what it was: of any number of callers, one is told."""
        ...
