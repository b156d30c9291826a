"""Who knocks: bearer keys, sessions in cookies, and patience with those who guess."""

from collections import OrderedDict
from datetime import datetime, timedelta

from starlette.types import Scope

from cadenza.domain.access.key import Caller
from cadenza.operations.access.sessions import admit_session, shows_csrf
from cadenza.operations.application import Application
from cadenza.surfaces.dashboard import cookies
from cadenza.surfaces.http.headers import given
from cadenza.surfaces.http.problems import NOT_ALLOWED, TOO_MANY, UNAUTHORIZED, Refusal

SCHEME = "bearer"
A_WHILE = timedelta(minutes=1)
MOST_FAILURES = 30
"""So many wrong keys may one address show in a while."""
MOST_ADDRESSES = 10_000
LONGEST_KEY = 200
READING = frozenset({"GET", "HEAD", "OPTIONS"})
CSRF = b"x-csrf-token"


class Failures:
    """How many wrong keys each address has shown lately."""

    def __init__(self) -> None:
        self._seen: OrderedDict[str, tuple[datetime, int]] = OrderedDict()

    def wait_s(self, address: str, now: datetime) -> int | None:
        """None, or for how many seconds an address is not listened to."""
        began, count = self._seen.get(address, (now, 0))
        left = began + A_WHILE - now
        return int(left.total_seconds()) + 1 if count >= MOST_FAILURES and left > timedelta() else None

    def note(self, address: str, now: datetime) -> None:
        """One more."""
        began, count = self._seen.get(address, (now, 0))
        if now - began >= A_WHILE:
            began, count = now, 0
        self._seen[address] = (began, count + 1)
        self._seen.move_to_end(address)
        if len(self._seen) > MOST_ADDRESSES:
            self._seen.popitem(last=False)


class Gate:
    """Lets callers in who show a key that is good, or the cookie of a session."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self._failures = Failures()

    async def caller(self, scope: Scope) -> tuple[Caller, str]:
        """Who asks, and the secret that says so."""
        secret = cookies.shown(scope)
        if secret is not None and given(scope, b"authorization") is None:
            return await self._in_session(scope, secret), secret
        token = bearer(scope)
        clock, caller_cache = self.application.dependencies.clock, self.application.dependencies.caller_cache
        known = caller_cache.known(token, clock.now())
        if known is not None:
            return known, token
        wait = self.patience(scope)
        if wait is not None:
            raise wait
        caller = await self.application.admit(token)
        if caller is None:
            self.note_failure(scope)
            raise nobody("This key is not known, or no longer.", error="invalid_token")
        return caller, token

    async def _in_session(self, scope: Scope, secret: str) -> Caller:
        caller = await admit_session(self.application.dependencies, secret)
        if caller is None:
            raise nobody("This session is over; log in again.")
        if scope["method"] not in READING:
            self.must_show_csrf(scope, secret)
        return caller

    def must_show_csrf(self, scope: Scope, secret: str) -> None:
        """Refuse a write that another origin's page may have sent: it has the cookie, but not the token."""
        if not shows_csrf(secret, given(scope, CSRF)):
            raise Refusal(NOT_ALLOWED, "A write by cookie must show the session's token as X-Csrf-Token.")

    def patience(self, scope: Scope) -> Refusal | None:
        """The refusal of an address that has shown too many wrong keys."""
        wait = self._failures.wait_s(_address(scope), self.application.dependencies.wall_now())
        if wait is None:
            return None
        detail = "There were too many wrong keys from this address; wait a while."
        return Refusal(TOO_MANY, detail, {"Retry-After": str(wait)})

    def note_failure(self, scope: Scope) -> None:
        """One more wrong key from an address."""
        self._failures.note(_address(scope), self.application.dependencies.wall_now())


def _address(scope: Scope) -> str:
    return str((scope.get("client") or ("",))[0])


def bearer(scope: Scope) -> str:
    """The key that a request shows."""
    shown = given(scope, b"authorization")
    if shown is None:
        raise nobody("Show a key: Authorization: Bearer cad_….")
    scheme, _, token = shown.partition(" ")
    token = token.strip()
    if scheme.lower() != SCHEME or not token or len(token) > LONGEST_KEY:
        raise nobody("Show a key as Authorization: Bearer cad_….", error="invalid_request")
    return token


def nobody(detail: str, *, error: str | None = None) -> Refusal:
    """The refusal of somebody without a good key."""
    challenge = 'Bearer realm="cadenza"' + (f', error="{error}"' if error else "")
    return Refusal(UNAUTHORIZED, detail, {"WWW-Authenticate": challenge})
