"""Authentication: bearer keys, session cookies, and a throttle on wrong ones."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from starlette.types import Scope

from cadenza.domain.access.key import Caller
from cadenza.operations.access.sessions import authenticate_session, csrf_matches
from cadenza.operations.application import Application
from cadenza.surfaces.dashboard import cookies
from cadenza.surfaces.http.problems import NOT_ALLOWED, TOO_MANY, UNAUTHORIZED, Refusal
from cadenza.surfaces.http.request import single_header

SCHEME = "bearer"
COUNTED_FOR = timedelta(minutes=1)
MOST_FAILURES = 30
"""Wrong keys of one address in a minute; those after them are answered with 429."""
MOST_CHECKS = 2
"""How many keys of addresses above the limit are looked up at a time, so that they cannot crowd the store."""
MOST_ADDRESSES = 10_000
LONGEST_KEY = 200
TOO_MANY_WRONG = "There were too many wrong keys from this address; wait a while."
READING = frozenset({"GET", "HEAD", "OPTIONS"})
CSRF = b"x-csrf-token"


Found = TypeVar("Found")


class Failures:
    """Recent wrong keys by address."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._seen: OrderedDict[str, tuple[datetime, int]] = OrderedDict()

    def wait_s(self, address: str) -> int | None:
        """For how many seconds an address stays above the limit; None if it is not."""
        if address not in self._seen:
            return None
        began, count = self._seen[address]
        left = began + COUNTED_FOR - self._now()
        return int(left.total_seconds()) + 1 if count >= MOST_FAILURES and left > timedelta() else None

    def note(self, address: str) -> None:
        """Count one more."""
        now = self._now()
        began, count = self._seen.get(address, (now, 0))
        if now - began >= COUNTED_FOR:
            began, count = now, 0
        self._seen[address] = (began, count + 1)
        self._seen.move_to_end(address)
        if len(self._seen) > MOST_ADDRESSES:
            self._seen.popitem(last=False)


class Authenticator:
    """Finds the caller of a request by its key or its session cookie."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self._failures = Failures(application.dependencies.system_now)
        self._few_at_a_time = asyncio.Semaphore(MOST_CHECKS)

    async def caller(self, scope: Scope) -> tuple[Caller, str]:
        """The caller, and the key or session secret that they sent."""
        shown = single_header(scope, b"authorization")
        secret = cookies.session_secret(scope) if shown is None else None
        if secret is not None:
            return await self._in_session(scope, secret), secret
        token = bearer(shown)
        caller = await self.check(scope, partial(self.application.authenticate, token))
        if caller is None:
            raise unauthorized("This key is invalid, expired or deleted.", error="invalid_token")
        return caller, token

    async def check(self, scope: Scope, look_up: Callable[[], Awaitable[Found | None]]) -> Found | None:
        """What the key, token or code of a request opens; None if nothing, or 429 after too many such.

        One that is right is never refused for wrong ones of the same address: it may only wait
        until a few others were looked up.
        """
        address = address_of(scope)
        if self._failures.wait_s(address) is None:
            found = await look_up()
        else:
            async with self._few_at_a_time:
                found = await look_up()
        if found is not None:
            return found
        wait = self._failures.wait_s(address)
        if wait is not None:
            raise Refusal(TOO_MANY, TOO_MANY_WRONG, {"Retry-After": str(wait)})
        self._failures.note(address)
        return None

    async def _in_session(self, scope: Scope, secret: str) -> Caller:
        caller = await authenticate_session(self.application.dependencies, secret)
        if caller is None:
            raise unauthorized("This session is over; log in again.")
        if scope["method"] not in READING:
            self.must_show_csrf(scope, secret)
        return caller

    def must_show_csrf(self, scope: Scope, secret: str) -> None:
        """Refuse a write without the session's CSRF token: another origin's page has only the cookie."""
        if not csrf_matches(secret, single_header(scope, CSRF)):
            raise Refusal(NOT_ALLOWED, "A write by cookie must show the session's token as X-Csrf-Token.")


def address_of(scope: Scope) -> str:
    """The address from which a request came."""
    return str((scope.get("client") or ("",))[0])


def bearer(shown: str | None) -> str:
    """The bearer key in the header `Authorization`."""
    if shown is None:
        raise unauthorized("Send a key: Authorization: Bearer cad_….")
    scheme, _, token = shown.partition(" ")
    token = token.strip()
    if scheme.lower() != SCHEME or not token or len(token) > LONGEST_KEY:
        raise unauthorized("Send a key as Authorization: Bearer cad_….", error="invalid_request")
    return token


def unauthorized(detail: str, *, error: str | None = None) -> Refusal:
    """The refusal of a request without a valid key."""
    challenge = 'Bearer realm="cadenza"' + (f', error="{error}"' if error else "")
    return Refusal(UNAUTHORIZED, detail, {"WWW-Authenticate": challenge})
