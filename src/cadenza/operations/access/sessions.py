"""People at the dashboard: they come in by a link that works once or with a key, and stay by a cookie."""

from datetime import datetime, timedelta
from hashlib import sha256
from hmac import compare_digest
from typing import NamedTuple

from cadenza.domain.access.key import Caller
from cadenza.operations.access.caller_cache import origin_of
from cadenza.operations.access.keys import opening
from cadenza.operations.context import Dependencies
from cadenza.ports.access import Session, SessionKind

LINK_LASTS = timedelta(hours=1)
SESSION_LASTS = timedelta(days=14)
LONGEST_SECRET = 200
ORIGIN = "dashboard"
"""As what somebody is recorded who came in by a link, and has no key."""


class Entered(NamedTuple):
    """A session that was just opened, and its secret, which goes into the cookie."""

    secret: str
    session: Session


async def new_link(dependencies: Dependencies, caller: Caller) -> str:
    """A code that opens one session with the rights of a caller."""
    code, now = dependencies.token_generator.secret(), dependencies.wall_now()
    await dependencies.store.sessions.open_session(
        Session(_digest(code), SessionKind.LINK, caller.tenant_id, caller.scopes, now, now + LINK_LASTS)
    )
    return code


async def enter_by_code(dependencies: Dependencies, code: str) -> Entered | None:
    """Use a link up; None if it is unknown, used or has run out."""
    if len(code) > LONGEST_SECRET:
        return None
    link, now = await dependencies.store.sessions.end_session(_digest(code)), dependencies.wall_now()
    if link is None or link.kind is not SessionKind.LINK or link.expires_at <= now:
        return None
    return await _enter(dependencies, link, now)


async def enter_by_key(dependencies: Dependencies, token: str) -> Entered | None:
    """Come in with a key of a tenant; None if it opens nothing, or speaks for one user alone."""
    key = await opening(dependencies.store.keys, token, dependencies.clock.now())
    if key is None or key.user_id is not None:
        return None
    now = dependencies.wall_now()
    wanted = Session(b"", SessionKind.SESSION, key.tenant_id, key.scopes, now, now, key.id)
    return await _enter(dependencies, wanted, now)


async def _enter(dependencies: Dependencies, wanted: Session, now: datetime) -> Entered:
    secret = dependencies.token_generator.secret()
    session = wanted._replace(
        digest=_digest(secret), kind=SessionKind.SESSION, created_at=now, expires_at=now + SESSION_LASTS
    )
    await dependencies.store.sessions.open_session(session)
    return Entered(secret, session)


async def recalled(dependencies: Dependencies, secret: str) -> Session | None:
    """The session that a secret opens, unless it, or the key it was opened with, is no longer good."""
    if len(secret) > LONGEST_SECRET:
        return None
    session = await dependencies.store.sessions.session(_digest(secret))
    if (
        session is None
        or session.kind is not SessionKind.SESSION
        or session.expires_at <= dependencies.wall_now()
    ):
        return None
    if session.key_id is not None:
        kept = await dependencies.store.keys.stored_key(session.key_id)
        if kept is None or not kept.key.valid(dependencies.clock.now()):
            return None
    return session


async def leave(dependencies: Dependencies, secret: str) -> None:
    """End a session; its secret opens nothing from now on."""
    await dependencies.store.sessions.end_session(_digest(secret))
    dependencies.caller_cache.drop(_at_the_door(secret))


async def admit_session(dependencies: Dependencies, secret: str) -> Caller | None:
    """The caller behind a session; who came in a moment ago is not looked up again."""
    caller_cache, now, place = dependencies.caller_cache, dependencies.clock.now(), _at_the_door(secret)
    caller = caller_cache.known(place, now)
    if caller is not None:
        return caller
    turn = caller_cache.turn
    session = await recalled(dependencies, secret)
    if session is None:
        return None
    caller = caller_in(session)
    caller_cache.keep(place, caller, now=now, turn=turn)
    return caller


def _at_the_door(secret: str) -> str:
    """How the door remembers a session: never as the key that the same letters might be."""
    return f"session {secret}"


def caller_in(session: Session) -> Caller:
    """Whoever holds a session."""
    origin = ORIGIN if session.key_id is None else origin_of(session.key_id)
    return Caller(session.tenant_id, session.scopes, origin)


def csrf_token(secret: str) -> str:
    """What the dashboard shows with each write, and pages of other origins cannot read."""
    return sha256(b"csrf:" + secret.encode(errors="replace")).hexdigest()


def shows_csrf(secret: str, shown: str | None) -> bool:
    """Was the right token shown?"""
    return shown is not None and compare_digest(csrf_token(secret).encode(), shown.encode(errors="replace"))


def _digest(secret: str) -> bytes:
    return sha256(b"session:" + secret.encode(errors="replace")).digest()
