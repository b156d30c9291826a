"""An application behind REST: the table of operations turned into requests, and problems back into errors."""

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote, urlsplit

import aiohttp
from yarl import URL

from cadenza.domain.errors import (
    CadenzaError,
    Conflict,
    Fault,
    InvalidRequest,
    NotAllowed,
    NotFound,
    Unavailable,
)
from cadenza.operations.application import parse_command
from cadenza.operations.operation import AnyOperation, Route
from cadenza.operations.table import BY_NAME

BODILESS = frozenset({"GET", "DELETE"})
SECONDS = aiohttp.ClientTimeout(total=600, sock_connect=10)
PLACE = re.compile(r"{(\w+)}")
YES, NO_KEY, BROKEN = range(200, 300), 401, 500
ERRORS: dict[int, type[CadenzaError]] = {
    NO_KEY: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    429: Unavailable,
}


class RemoteClient:
    """Asks a server."""

    def __init__(self, session: aiohttp.ClientSession, server: str) -> None:
        self._session = session
        self._server = server.rstrip("/")

    async def ask(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """The operation's view as JSON values."""
        asked = BY_NAME.get(operation)
        if asked is None or asked.route is None:
            raise InvalidRequest(
                "Only the machine with the database does this: leave --server out.", "server"
            )
        parse_command(asked, arguments)
        try:
            async with self._session.request(**self._request(asked.route, arguments)) as response:
                return _answer(asked, response.status, await response.read())
        except aiohttp.ClientConnectorError:
            raise Unavailable(f"Nobody answers at {self._server}; is the server up?") from None
        except (aiohttp.ClientError, TimeoutError, OSError) as problem:
            raise Unavailable(f"{self._server} broke off: {type(problem).__name__}.") from None

    def _request(self, route: Route, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Names in braces go into the path; the rest is the query, or the body."""
        inside = PLACE.findall(route.path)
        path = PLACE.sub(lambda name: quote(str(arguments[name[1]]), safe=""), route.path)
        rest = {name: value for name, value in arguments.items() if name not in inside}
        request: dict[str, Any] = {"method": route.method, "allow_redirects": False}
        if route.method in BODILESS:
            return {**request, "url": _url(self._server + path), "params": _query(rest)}
        return {**request, "url": _url(self._server + path), "json": rest}


def _url(address: str) -> URL:
    return URL(address, encoded=True)


def _query(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        (name, _word(one))
        for name, value in given.items()
        for one in (value if isinstance(value, list) else [value])
        if one is not None
    ]


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _answer(asked: AnyOperation, status: int, body: bytes) -> Any:
    """The view, if it is one: a newer server may say more, and anybody else says less."""
    said = _object(body)
    if said is not None and status in YES and asked.view.model_fields.keys() <= said.keys():
        return said
    raise _error(status, said or {})


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        said = json.loads(body or b"{}")
    except ValueError:
        return None
    return said if isinstance(said, dict) else None


def _error(status: int, problem: Mapping[str, Any]) -> CadenzaError:
    """The error that the server meant; what is no problem document did not come from one of ours."""
    detail = problem.get("detail")
    if not isinstance(detail, str):
        return Unavailable(f"The server answered {status}, and not as Cadenza does; is it the right address?")
    if status == NO_KEY:
        return NotAllowed(f"{detail.removesuffix('.')}; --key or CADENZA_KEY takes it.")
    if status in ERRORS:
        return ERRORS[status](detail)
    if status >= BROKEN:
        return Unavailable(detail)
    return InvalidRequest(detail, None, _faults(problem.get("errors")))


def _faults(errors: Any) -> list[Fault]:
    if not isinstance(errors, list):
        return []
    return [Fault(str(one.get("field")), str(one.get("message"))) for one in errors if isinstance(one, dict)]


@asynccontextmanager
async def remote_client(server: str, key: str | None) -> AsyncIterator[RemoteClient]:
    """An application behind an address; its connections are closed in the end."""
    headers = {"Authorization": f"Bearer {_key(key)}"} if key else {}
    async with aiohttp.ClientSession(headers=headers, timeout=SECONDS) as session:
        yield RemoteClient(session, _address(server))


def _address(server: str) -> str:
    """An address that can be asked; one with a password in it would be repeated in sentences."""
    if not _is_address(server):
        raise InvalidRequest("--server must be an address such as http://127.0.0.1:8700.", "server")
    return server


def _is_address(server: str) -> bool:
    try:
        parts = urlsplit(server)
        named = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    more = parts.query or parts.fragment or "@" in parts.netloc or not server.isprintable()
    return named and parts.scheme in ("http", "https") and not more


def _key(key: str) -> str:
    """A key that a header can carry; it is never repeated, wrong as it may be."""
    if not (key.isascii() and key.isprintable() and " " not in key.strip()):
        raise InvalidRequest("The key is not one: keys look like cad_….", "key")
    return key.strip()
