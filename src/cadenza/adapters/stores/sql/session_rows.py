"""Sessions as rows, and back."""

from typing import Any

from cadenza.adapters.stores.sql.rows import Read, Row
from cadenza.domain.access.key import Scope
from cadenza.ports.access import Pass, Session


def write_session(session: Session) -> tuple[Any, ...]:
    """The columns of a session."""
    digest, kind, tenant_id, scopes, *rest = session
    return (digest, kind.value, tenant_id, " ".join(sorted(scopes)), *rest)


def read_session(row: Row, read: Read) -> Session:
    """The session in a row with the columns of `write_session`."""
    digest, kind, tenant_id, scopes, created_at, expires_at, key_id = row
    rights = frozenset(map(Scope, scopes.split()))
    return Session(digest, Pass(kind), tenant_id, rights, read(created_at), read(expires_at), key_id)
