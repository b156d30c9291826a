"""Login sessions of the dashboard: opened by a one-time link or a key, kept by a cookie."""

from datetime import datetime, timedelta
from hashlib import sha256
from hmac import compare_digest
from typing import NamedTuple

from cadenza.domain.access.key import Caller
from cadenza.operations.access.caller_cache import key_id_of, origin_of
from cadenza.operations.access.keys import valid_key
from cadenza.operations.context import Dependencies
from cadenza.ports.access import Session, SessionKind

LINK_LASTS = timedelta(hours=1)
SESSION_LASTS = timedelta(days=14)
LONGEST_SECRET = 200
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


async def log_in_by_code(dependencies: Dependencies, code: str) -> NewSession | None:
    """Log in by a link; None if it is unknown, used or expired."""
    if len(code) > LONGEST_SECRET:
        return None
    link, now = await dependencies.store.sessions.end_session(_digest(code)), dependencies.system_now()
    if link is None or link.kind is not SessionKind.LINK or link.expires_at <= now:
        return None
    return await _log_in(dependencies, link, now)


async def log_in_by_key(dependencies: Dependencies, token: str) -> NewSession | None:
    """Log in with a key of a tenant; None if it is not valid, or acts for one user alone."""
    key = await valid_key(dependencies.store.keys, token, dependencies.clock.now())
    if key is None or key.user_id is not None:
        return None
    now = dependencies.system_now()
    wanted = Session(b"", SessionKind.SESSION, key.tenant_id, key.scopes, now, now, key.id)
    return await _log_in(dependencies, wanted, now)


async def _log_in(dependencies: Dependencies, wanted: Session, now: datetime) -> NewSession:
    secret = dependencies.token_generator.secret()
    session = wanted._replace(
        digest=_digest(secret), kind=SessionKind.SESSION, created_at=now, expires_at=now + SESSION_LASTS
    )
    await dependencies.store.sessions.open_session(session)
    return NewSession(secret, session)


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
    """End a session."""
    await dependencies.store.sessions.end_session(_digest(secret))
    dependencies.caller_cache.drop_token(_cache_key(secret))


async def authenticate_session(dependencies: Dependencies, secret: str) -> Caller | None:
    """The caller of a session, from the cache if possible; None if it is not valid."""
    cache, now, token = dependencies.caller_cache, dependencies.clock.now(), _cache_key(secret)
    caller = cache.get(token, now)
    if caller is not None:
        return caller
    version = cache.version
    session = await valid_session(dependencies, secret)
    if session is None:
        return None
    caller = session_caller(session)
    cache.add(token, caller, now=now, version=version)
    return caller


def _cache_key(secret: str) -> str:
    """The cache's token of a session, which no API key can equal."""
    return f"session {secret}"


def session_caller(session: Session) -> Caller:
    """The caller of a session."""
    origin = ORIGIN if session.key_id is None else origin_of(session.key_id)
    return Caller(session.tenant_id, session.scopes, origin)


def csrf_token(secret: str) -> str:
    """The CSRF token that the dashboard sends with each write."""
    return sha256(b"csrf:" + secret.encode(errors="replace")).hexdigest()


def csrf_matches(secret: str, shown: str | None) -> bool:
    """Whether the right CSRF token was sent."""
    return shown is not None and compare_digest(csrf_token(secret).encode(), shown.encode(errors="replace"))


def _digest(secret: str) -> bytes:
    return sha256(b"session:" + secret.encode(errors="replace")).digest()
