"""A client that performs operations over REST, and turns problem documents back into errors."""

import json
import re
from collections.abc import Mapping
from functools import cache
from http.client import HTTPException
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from cadenza.domain.access.key import Surface
from cadenza.domain.errors import (
    CadenzaError,
    Conflict,
    Fault,
    InvalidRequest,
    NotAllowed,
    NotFound,
    Unavailable,
)
from cadenza.operations.arguments import parse_command
from cadenza.operations.operation import RANK_HEADER, USER_AGENT, AnyOperation, Route
from cadenza.operations.single_operation import find_operation
from cadenza.roots.clients.choice import ServerAddress
from cadenza.roots.clients.http_exchange import NotConnected, exchange

PLACE = re.compile(r"{(\w+)}")
A_ROUTE = re.compile(r"`([A-Z]+ /[^`]*)`")
OK, NO_KEY, SERVER_ERROR = range(200, 300), 401, 500
ERRORS: dict[int, type[CadenzaError]] = {
    NO_KEY: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    429: Unavailable,
}


class RemoteClient:
    """Performs operations on a server."""

    def __init__(self, server: str, headers: Mapping[str, str]) -> None:
        self._server = server.rstrip("/")
        self._headers = headers

    async def ask(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """The operation's view as JSON values."""
        asked = find_operation(operation)
        if asked is None or asked.route is None:
            raise InvalidRequest(
                "Only the machine with the database does this: there, --server '' asks it.", "--server"
            )
        parse_command(asked, arguments)
        place, body = _request(asked.route, arguments)
        try:
            response = await exchange(asked.route.method, self._server + place, self._headers, body)
        except NotConnected:
            raise Unavailable(f"Cannot connect to {self._server}; is the server up?") from None
        except (HTTPException, OSError) as problem:
            raise Unavailable(f"The connection to {self._server} failed: {type(problem).__name__}.") from None
        return self._answer(asked, response.status, response.body)

    def _answer(self, asked: AnyOperation, status: int, body: bytes) -> Any:
        """The view, if the body has its fields; a newer server may send more."""
        document = _object(body)
        if document is not None and status in OK and asked.view.model_fields.keys() <= document.keys():
            return document
        raise _error(status, document or {}, self._server)


def _request(route: Route, arguments: Mapping[str, Any]) -> tuple[str, bytes | None]:
    """The path and the body: names in braces go into the path; the rest is the query, or the body."""
    inside = PLACE.findall(route.path)
    path = PLACE.sub(lambda name: quote(str(arguments[name[1]]), safe=""), route.path)
    rest = {name: value for name, value in arguments.items() if name not in inside}
    if route.has_body:
        return path, json.dumps(rest).encode()
    query = urlencode(_query(rest))
    return (f"{path}?{query}" if query else path), None


def _query(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        (name, _word(one))
        for name, value in given.items()
        for one in (value if isinstance(value, list) else [value])
        if one is not None
    ]


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        said = json.loads(body or b"{}")
    except ValueError:
        return None
    return said if isinstance(said, dict) else None


def _error(status: int, problem: Mapping[str, Any], server: str) -> CadenzaError:
    """The error of a problem document; anything else did not come from Cadenza."""
    detail = problem.get("detail")
    if not isinstance(detail, str):
        return Unavailable(f"The server answered {status}, and not as Cadenza does; is it the right address?")
    detail = _with_operations(detail)
    if status == NO_KEY:
        return NotAllowed(f"{detail.removesuffix('.')} at {server}; --key or CADENZA_KEY takes it.")
    if status in ERRORS:
        return ERRORS[status](detail)
    if status >= SERVER_ERROR:
        return Unavailable(detail)
    return InvalidRequest(detail, None, _faults(problem.get("errors")))


def _faults(errors: Any) -> list[Fault]:
    if not isinstance(errors, list):
        return []
    return [
        Fault(str(one.get("field")), _with_operations(str(one.get("message"))))
        for one in errors
        if isinstance(one, dict)
    ]


def _with_operations(sentence: str) -> str:
    """The sentence with the names of operations, which a server names by their routes."""
    return A_ROUTE.sub(lambda found: f"`{_names().get(found[1], found[1])}`", sentence)


@cache
def _names() -> dict[str, str]:
    from cadenza.operations.table import OPERATIONS  # It imports every operation.

    return {str(one.route): one.name for one in OPERATIONS if one.route is not None}


def remote_client(
    address: ServerAddress, *, rank: str | None = None, surface: Surface = Surface.CLI
) -> RemoteClient:
    """A client of the server at an address; what it steers has the stated rank, if that is lower."""
    headers = {"Authorization": f"Bearer {_key(address.key)}"} if address.key else {}
    headers |= {RANK_HEADER: rank} if rank else {}
    headers |= {"User-Agent": f"{USER_AGENT}{surface}"}
    return RemoteClient(_checked(address), headers)


def _checked(address: ServerAddress) -> str:
    """A checked address; one with a password is refused, since errors repeat it."""
    if not _is_address(address.server):
        raise InvalidRequest(
            f"{address.named_by} must be an address such as http://127.0.0.1:8700.", address.named_by
        )
    return address.server


def _is_address(server: str) -> bool:
    try:
        parts = urlsplit(server)
        named = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    more = parts.query or parts.fragment or "@" in parts.netloc
    plain = server.isascii() and server.isprintable() and " " not in server
    return named and plain and parts.scheme in ("http", "https") and not more


def _key(key: str) -> str:
    """A key that a header can carry; errors never repeat it."""
    if not (key.isascii() and key.isprintable() and " " not in key.strip()):
        raise InvalidRequest("This is not a valid key: keys look like cad_….")
    return key.strip()
