"""Keys, limits and replies as rows, and back."""

from typing import Any

import orjson

from cadenza.adapters.stores.sql.rows import Read, Row
from cadenza.domain.access.key import ApiKey, Scope
from cadenza.domain.access.tenant import NO_LIMITS, Limits
from cadenza.ports.access import KeptKey, Pass, Reply, Session


def write_key(kept: KeptKey) -> tuple[Any, ...]:
    """The columns of a key."""
    key = kept.key
    scopes = " ".join(sorted(key.scopes))
    return (key.id, key.tenant_id, key.name, kept.digest, scopes, key.created_at, key.expires_at, key.user_id)


def read_key(row: Row, read: Read) -> KeptKey:
    """The key in a row with the columns of `write_key`."""
    id_, tenant_id, name, digest, scopes, created_at, expires_at, user_id = row
    key = ApiKey(
        id=id_,
        tenant_id=tenant_id,
        name=name,
        scopes=frozenset(map(Scope, scopes.split())),
        created_at=read(created_at),
        expires_at=read(expires_at),
        user_id=user_id,
    )
    return KeptKey(key, digest)


def write_limits(limits: Limits) -> str | None:
    """The document of limits; without any there is none."""
    return None if limits == NO_LIMITS else orjson.dumps(limits).decode()


def read_limits(document: str | None) -> Limits:
    """The limits in a document."""
    return NO_LIMITS if document is None else Limits(**orjson.loads(document))


def read_reply(row: Row, read: Read) -> Reply:
    """The reply in a row with the columns of `Reply`."""
    fingerprint, began_at, status, body = row
    return Reply(fingerprint, read(began_at), status, body)


def write_session(session: Session) -> tuple[Any, ...]:
    """The columns of a session."""
    digest, kind, tenant_id, scopes, *rest = session
    return (digest, kind.value, tenant_id, " ".join(sorted(scopes)), *rest)


def read_session(row: Row, read: Read) -> Session:
    """The session in a row with the columns of `write_session`."""
    digest, kind, tenant_id, scopes, created_at, expires_at, key_id = row
    rights = frozenset(map(Scope, scopes.split()))
    return Session(digest, Pass(kind), tenant_id, rights, read(created_at), read(expires_at), key_id)
