"""Authenticated callers, cached for seconds, so that most requests read no key from the store."""

from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime, timedelta
from hashlib import sha256
from typing import NamedTuple

from cadenza.domain.access.key import ApiKey, Caller, OnBehalfOf

CACHED_FOR = timedelta(seconds=5)
MOST_CALLERS = 10_000


class _Entry(NamedTuple):
    caller: Caller
    until: datetime


class CallerCache:
    """The callers of tokens for a few seconds, and never longer than the key is valid.

    A key that this process deletes is dropped at once; one that another process deletes
    works here until its entry expires.
    """

    def __init__(self) -> None:
        self._entries: OrderedDict[bytes, _Entry] = OrderedDict()
        self._version = 0

    @property
    def version(self) -> int:
        """How often entries were dropped: what was read from the store before may be outdated."""
        return self._version

    def get(self, token: str, now: datetime) -> Caller | None:
        """The caller of a token, if its entry has not expired."""
        entry = self._entries.get(_digest(token))
        return entry.caller if entry is not None and now < entry.until else None

    def add_key(self, token: str, key: ApiKey, *, now: datetime, version: int) -> None:
        """Cache the caller of a key, unless entries were dropped since `version`."""
        self.add(token, caller_of(key), now=now, version=version, expires_at=key.expires_at)

    def add(
        self, token: str, caller: Caller, *, now: datetime, version: int, expires_at: datetime | None = None
    ) -> None:
        """Cache a caller, unless entries were dropped since `version`."""
        if version != self._version:
            return
        until = now + CACHED_FOR if expires_at is None else min(now + CACHED_FOR, expires_at)
        digest = _digest(token)
        self._entries[digest] = _Entry(caller, until)
        self._entries.move_to_end(digest)
        if len(self._entries) > MOST_CALLERS:
            self._entries.popitem(last=False)

    def drop_token(self, token: str) -> None:
        """Drop the entry of a token."""
        self._version += 1
        self._entries.pop(_digest(token), None)

    def drop_key(self, key_id: str) -> None:
        """Drop the entries of a key."""
        origin = origin_of(key_id)
        self._drop_where(lambda caller: caller.origin == origin)

    def drop_user(self, tenant_id: str, user_id: str) -> None:
        """Drop the entries of all callers that act for a user."""
        self._drop_where(
            lambda caller: (
                caller.tenant_id == tenant_id
                and caller.on_behalf_of is not None
                and caller.on_behalf_of.user_id == user_id
            )
        )

    def _drop_where(self, matches: Callable[[Caller], bool]) -> None:
        self._version += 1
        for digest in [digest for digest, entry in self._entries.items() if matches(entry.caller)]:
            del self._entries[digest]


def caller_of(key: ApiKey) -> Caller:
    """The caller with a key."""
    on_behalf_of = None if key.user_id is None else OnBehalfOf(key.user_id)
    return Caller(key.tenant_id, key.scopes, origin_of(key.id), on_behalf_of)


KEY = "key:"


def origin_of(key_id: str) -> str:
    """The origin under which the changes of a key's holder are recorded."""
    return f"{KEY}{key_id}"


def key_id_of(origin: str) -> str | None:
    """The key of an origin; None if it is not that of a key's holder."""
    before, found, key_id = origin.rpartition(KEY)
    return key_id if found and before[-1:] in ("", ":") else None


def _digest(token: str) -> bytes:
    """A digest, so that tokens are not in memory longer than a request."""
    return sha256(token.encode(errors="replace")).digest()
