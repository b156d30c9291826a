"""Callers who were let in lately, so that most requests look up no key."""

from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime, timedelta
from hashlib import sha256
from typing import NamedTuple

from cadenza.domain.access.key import ApiKey, Caller, OnBehalfOf

REMEMBERED = timedelta(seconds=5)
MOST = 10_000


class _Known(NamedTuple):
    caller: Caller
    until: datetime


class CallerCache:
    """Remembers whose key is whose for a few seconds, and never beyond the key's own end.

    Keys that other processes take back open this door until then; one that is taken
    back here opens it no more at once.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        self._forgotten = 0

    @property
    def turn(self) -> int:
        """How often something was forgotten: what was looked up before then may be wrong by now."""
        return self._forgotten

    def known(self, token: str, now: datetime) -> Caller | None:
        """Who came in with this a moment ago."""
        known = self._known.get(_digest(token))
        return known.caller if known is not None and now < known.until else None

    def remember(self, token: str, key: ApiKey, *, now: datetime, turn: int) -> None:
        """Let whoever has this in for a while, unless a key was taken back since the turn it was read in."""
        self.keep(token, caller_of(key), now=now, turn=turn, expires_at=key.expires_at)

    def keep(
        self, token: str, caller: Caller, *, now: datetime, turn: int, expires_at: datetime | None = None
    ) -> None:
        """The same for a caller who is known otherwise."""
        if turn != self._forgotten:
            return
        until = now + REMEMBERED if expires_at is None else min(now + REMEMBERED, expires_at)
        place = _digest(token)
        self._known[place] = _Known(caller, until)
        self._known.move_to_end(place)
        if len(self._known) > MOST:
            self._known.popitem(last=False)

    def drop(self, token: str) -> None:
        """Let nobody in with this secret unseen."""
        self._forgotten += 1
        self._known.pop(_digest(token), None)

    def forget(self, key_id: str) -> None:
        """Let nobody in with this key unseen."""
        origin = origin_of(key_id)
        self.forget_where(lambda one: one.origin == origin)

    def forget_where(self, meant: Callable[[Caller], bool]) -> None:
        """Let none of these in unseen."""
        self._forgotten += 1
        for place in [place for place, known in self._known.items() if meant(known.caller)]:
            del self._known[place]


def forget_user(caller_cache: CallerCache, tenant_id: str, user_id: str) -> None:
    """Let nobody in unseen who speaks for this user."""
    caller_cache.forget_where(
        lambda one: (
            one.tenant_id == tenant_id
            and one.on_behalf_of is not None
            and one.on_behalf_of.user_id == user_id
        )
    )


def caller_of(key: ApiKey) -> Caller:
    """Whoever holds a key."""
    on_behalf_of = None if key.user_id is None else OnBehalfOf(key.user_id)
    return Caller(key.tenant_id, key.scopes, origin_of(key.id), on_behalf_of)


def origin_of(key_id: str) -> str:
    """As what the holder of a key is recorded."""
    return f"key:{key_id}"


def _digest(token: str) -> bytes:
    """Secrets do not lie about in memory longer than a request."""
    return sha256(token.encode(errors="replace")).digest()
