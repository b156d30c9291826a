"""Who knocks: bearer keys, and patience with those who guess."""

from collections import OrderedDict
from datetime import datetime, timedelta

from starlette.types import Scope

from cadenza.domain.access import Caller
from cadenza.operations.office import Office
from cadenza.surfaces.http.headers import given
from cadenza.surfaces.http.problems import TOO_MANY, UNAUTHORIZED, Refusal

SCHEME = "bearer"
A_WHILE = timedelta(minutes=1)
MOST_FAILURES = 30
"""So many wrong keys may one address show in a while."""
MOST_ADDRESSES = 10_000
LONGEST_KEY = 200


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
    """Lets callers in who show a key that is good."""

    def __init__(self, office: Office) -> None:
        self._office = office
        self._failures = Failures()

    async def caller(self, scope: Scope) -> tuple[Caller, str]:
        """Who asks, and the key that says so."""
        token = bearer(scope)
        clock, door = self._office.supplies.clock, self._office.supplies.door
        known = door.known(token, clock.now())
        if known is not None:
            return known, token
        address = (scope.get("client") or ("",))[0]
        wait = self._failures.wait_s(address, clock.now())
        if wait is not None:
            detail = "There were too many wrong keys from this address; wait a while."
            raise Refusal(TOO_MANY, detail, {"Retry-After": str(wait)})
        caller = await self._office.admit(token)
        if caller is None:
            self._failures.note(address, clock.now())
            raise nobody("This key is not known, or no longer.", error="invalid_token")
        return caller, token


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
