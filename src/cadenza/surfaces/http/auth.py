"""Authentication: bearer keys, session cookies, and a lockout after wrong keys."""

from collections import OrderedDict
from datetime import datetime, timedelta

from starlette.types import Scope

from cadenza.domain.access.key import Caller
from cadenza.operations.access.sessions import authenticate_session, csrf_matches
from cadenza.operations.application import Application
from cadenza.surfaces.dashboard import cookies
from cadenza.surfaces.http.problems import NOT_ALLOWED, TOO_MANY, UNAUTHORIZED, Refusal
from cadenza.surfaces.http.request import single_header

SCHEME = "bearer"
LOCKOUT = timedelta(minutes=1)
MOST_FAILURES = 30
"""Wrong keys that one address may send before it is locked out for a while."""
MOST_ADDRESSES = 10_000
LONGEST_KEY = 200
READING = frozenset({"GET", "HEAD", "OPTIONS"})
CSRF = b"x-csrf-token"


class Failures:
    """Recent wrong keys by address."""

    def __init__(self) -> None:
        self._seen: OrderedDict[str, tuple[datetime, int]] = OrderedDict()

    def wait_s(self, address: str, now: datetime) -> int | None:
        """For how many seconds an address is still locked out; None if it is not."""
        began, count = self._seen.get(address, (now, 0))
        left = began + LOCKOUT - now
        return int(left.total_seconds()) + 1 if count >= MOST_FAILURES and left > timedelta() else None

    def note(self, address: str, now: datetime) -> None:
        """Count one more."""
        began, count = self._seen.get(address, (now, 0))
        if now - began >= LOCKOUT:
            began, count = now, 0
        self._seen[address] = (began, count + 1)
        self._seen.move_to_end(address)
        if len(self._seen) > MOST_ADDRESSES:
            self._seen.popitem(last=False)


class Authenticator:
    """Finds the caller of a request by its key or its session cookie."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self._failures = Failures()

    async def caller(self, scope: Scope) -> tuple[Caller, str]:
        """The caller, and the key or session secret that they sent."""
        secret = cookies.session_secret(scope)
        if secret is not None and single_header(scope, b"authorization") is None:
            return await self._in_session(scope, secret), secret
        token = bearer(scope)
        dependencies = self.application.dependencies
        known = dependencies.caller_cache.get(token, dependencies.clock.now())
        if known is not None:
            return known, token
        wait = self.lockout(scope)
        if wait is not None:
            raise wait
        caller = await self.application.authenticate(token)
        if caller is None:
            self.note_failure(scope)
            raise unauthorized("This key is invalid, expired or deleted.", error="invalid_token")
        return caller, token

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

    def lockout(self, scope: Scope) -> Refusal | None:
        """The refusal of an address that is locked out; None if it is not."""
        wait = self._failures.wait_s(_address(scope), self.application.dependencies.system_now())
        if wait is None:
            return None
        detail = "There were too many wrong keys from this address; wait a while."
        return Refusal(TOO_MANY, detail, {"Retry-After": str(wait)})

    def note_failure(self, scope: Scope) -> None:
        """Count a wrong key of an address."""
        self._failures.note(_address(scope), self.application.dependencies.system_now())


def _address(scope: Scope) -> str:
    return str((scope.get("client") or ("",))[0])


def bearer(scope: Scope) -> str:
    """The bearer key of a request."""
    shown = single_header(scope, b"authorization")
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
