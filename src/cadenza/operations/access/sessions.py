"""Login sessions of the dashboard: opened by a one-time link or a key, kept by a cookie."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256
from hmac import compare_digest
from typing import NamedTuple

from cadenza.domain.access.audit import Actor, AuditOutcome, AuditRecord
from cadenza.domain.access.key import OPERATOR, Caller, Scope, Surface, key_id_of, origin_of
from cadenza.domain.json_values import Json
from cadenza.operations.access.key_tokens import id_of_token, valid_key
from cadenza.operations.access.recording import named_actor, record_of
from cadenza.operations.audit_trail import NotedChange
from cadenza.operations.context import Dependencies
from cadenza.ports.access import Session, SessionKind

LINK_LASTS = timedelta(hours=1)
SESSION_LASTS = timedelta(days=14)
LONGEST_SECRET = 200
UNKNOWN = "unknown"
ORIGIN = "dashboard"
"""The origin of changes in a session that was opened by a link."""


class NewSession(NamedTuple):
    """A new session, and its secret for the cookie."""

    secret: str
    session: Session


async def new_link(dependencies: Dependencies, caller: Caller) -> NewSession:
    """A login link with the scopes of a caller, and its code; it is for one use, and ends with its key."""
    code, now = dependencies.token_generator.secret(), dependencies.system_now()
    link = Session(
        digest=_digest(code),
        kind=SessionKind.LINK,
        tenant_id=caller.tenant_id,
        scopes=caller.scopes,
        created_at=now,
        expires_at=now + LINK_LASTS,
        key_id=key_id_of(caller.origin),
    )
    await dependencies.store.sessions.open_session(link)
    return NewSession(code, link)


async def log_in_by_code(dependencies: Dependencies, code: str, address: str = "") -> NewSession | None:
    """Log in by a link; None if it is unknown, used or expired. The login is recorded in its commit."""
    if len(code) > LONGEST_SECRET:
        return None
    store, digest, now = dependencies.store.sessions, _digest(code), dependencies.system_now()
    if await store.session(digest) is None:  # A wrong code costs a read, and no write.
        return None

    async def work() -> tuple[NewSession | None, Sequence[AuditRecord]]:
        link = await store.end_session(digest)
        if link is None or link.kind is not SessionKind.LINK or link.expires_at <= now:
            return None, []
        return await _log_in(dependencies, link, now, said={"by": "link", "address": address})

    return await dependencies.store.audit.change_with_records(work)


async def log_in_by_key(dependencies: Dependencies, token: str, address: str = "") -> NewSession | None:
    """Log in with a key of a tenant; None if it is not valid, or acts for one user alone.

    The login is recorded in its commit.
    """
    key = await valid_key(dependencies.store.keys, token, dependencies.clock.now())
    if key is None or key.user_id is not None:
        return None
    now = dependencies.system_now()
    wanted = Session(b"", SessionKind.SESSION, key.tenant_id, key.scopes, now, now, key.id)

    async def work() -> tuple[NewSession, Sequence[AuditRecord]]:
        return await _log_in(dependencies, wanted, now, said={"by": "key", "address": address})

    return await dependencies.store.audit.change_with_records(work)


async def _log_in(
    dependencies: Dependencies, wanted: Session, now: datetime, *, said: dict[str, Json]
) -> tuple[NewSession, Sequence[AuditRecord]]:
    secret = dependencies.token_generator.secret()
    session = wanted._replace(
        digest=_digest(secret), kind=SessionKind.SESSION, created_at=now, expires_at=now + SESSION_LASTS
    )
    await dependencies.store.sessions.open_session(session)
    scopes: list[Json] = [scope.value for scope in Scope if scope in session.scopes]
    record = await _record(dependencies, session, "log_in", {**said, "scopes": scopes})
    return NewSession(secret, session), [record]


async def record_failed_login(dependencies: Dependencies, *, key: str | None, address: str) -> None:
    """Record that a key or link did not open a session, for the tenant of the key.

    What belongs to no key is recorded for the operator's own tenant. Nothing of what was sent is kept
    but the id of an existing key.
    """
    key_id = id_of_token(key or "")
    stored = None if key_id is None else await dependencies.store.keys.stored_key(key_id)
    if stored is None:
        tenant_id, actor = OPERATOR, Actor(UNKNOWN, None, Surface.DASHBOARD)
    else:
        tenant_id = stored.key.tenant_id
        actor = Actor(origin_of(stored.key.id), stored.key.name, Surface.DASHBOARD)
    said: dict[str, Json] = {"by": "link" if key is None else "key", "address": address}
    noted = NotedChange("session", None, None, said)
    record = record_of(dependencies, noted, tenant_id=tenant_id, actor=actor, operation="log_in")
    await dependencies.store.audit.add_records([replace(record, outcome=AuditOutcome.REFUSED)])


async def _record(
    dependencies: Dependencies, session: Session, operation: str, said: dict[str, Json]
) -> AuditRecord:
    actor = await named_actor(dependencies, session_caller(session))
    noted = NotedChange("session", None, None, said)
    return record_of(dependencies, noted, tenant_id=session.tenant_id, actor=actor, operation=operation)


async def valid_session(dependencies: Dependencies, secret: str) -> Session | None:
    """The session of a secret; None if it or the key of its login is no longer valid."""
    if len(secret) > LONGEST_SECRET:
        return None
    session = await dependencies.store.sessions.session(_digest(secret))
    if (
        session is None
        or session.kind is not SessionKind.SESSION
        or session.expires_at <= dependencies.system_now()
    ):
        return None
    if session.key_id is not None:
        kept = await dependencies.store.keys.stored_key(session.key_id)
        if kept is None or not kept.key.valid(dependencies.clock.now()):
            return None
    return session


async def log_out(dependencies: Dependencies, secret: str) -> None:
    """End a session, which is recorded in its commit."""

    async def work() -> tuple[None, Sequence[AuditRecord]]:
        session = await dependencies.store.sessions.end_session(_digest(secret))
        ended = session is not None and session.kind is SessionKind.SESSION
        return None, [await _record(dependencies, session, "log_out", {})] if session and ended else []

    await dependencies.store.audit.change_with_records(work)


async def authenticate_session(dependencies: Dependencies, secret: str) -> Caller | None:
    """The caller of a session; None if it is not valid."""
    session = await valid_session(dependencies, secret)
    return None if session is None else session_caller(session)


def session_caller(session: Session) -> Caller:
    """The caller of a session."""
    origin = ORIGIN if session.key_id is None else origin_of(session.key_id)
    return Caller(session.tenant_id, session.scopes, origin, surface=Surface.DASHBOARD)


def csrf_token(secret: str) -> str:
    """The CSRF token that the dashboard sends with each write."""
    return sha256(b"csrf:" + secret.encode(errors="replace")).hexdigest()


def csrf_matches(secret: str, shown: str | None) -> bool:
    """Whether the right CSRF token was sent."""
    return shown is not None and compare_digest(csrf_token(secret).encode(), shown.encode(errors="replace"))


def _digest(secret: str) -> bytes:
    return sha256(b"session:" + secret.encode(errors="replace")).digest()
