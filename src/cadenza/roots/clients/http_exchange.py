"""One HTTP exchange by the standard library: importing an HTTP client takes longer than most commands."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPResponse
from io import BytesIO
from socket import socket
from typing import NamedTuple, cast
from urllib.parse import SplitResult, urlsplit

CONNECTED_WITHIN_S = 10.0
ANSWERED_WITHIN_S = 600.0
AT_ONCE = 1 << 16
SECURE = "https"


class NotConnected(Exception):
    """Nobody listens at the address, or who does is not trusted."""


class Response(NamedTuple):
    """The status and body of a response."""

    status: int
    body: bytes


async def exchange(method: str, url: str, headers: Mapping[str, str], body: bytes | None = None) -> Response:
    """The response to a request; no redirect is followed.

    NotConnected if there is no connection; OSError or HTTPException if it fails before it is complete.
    """
    address = urlsplit(url)
    reader, writer = await _connect(address)
    try:
        async with asyncio.timeout(ANSWERED_WITHIN_S):
            writer.write(_request(method, address, headers, body))
            received = await _received(reader)
    finally:
        writer.transport.abort()
    return _read(method, received)


async def _connect(address: SplitResult) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    secure = address.scheme == SECURE
    port = address.port or (443 if secure else 80)
    try:
        async with asyncio.timeout(CONNECTED_WITHIN_S):
            return await asyncio.open_connection(address.hostname, port, ssl=secure or None)
    except (OSError, UnicodeError) as problem:
        raise NotConnected from problem


def _request(method: str, address: SplitResult, headers: Mapping[str, str], body: bytes | None) -> bytes:
    """The request as it is sent; the server closes the connection at the end of its response."""
    target = (address.path or "/") + (f"?{address.query}" if address.query else "")
    sent = {"Host": address.netloc, "Connection": "close", "Accept": "*/*", **headers}
    if body is not None:
        sent |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items())]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + (body or b"")


async def _received(reader: asyncio.StreamReader) -> bytes:
    """All that comes until the connection ends, also if the server resets it: it may leave a body unread."""
    received = bytearray()
    with suppress(ConnectionError):
        while part := await reader.read(AT_ONCE):
            received += part
    return bytes(received)


class _Socket:
    """Stands for the socket that a response is read from, after all of it was received."""

    def __init__(self, received: bytes) -> None:
        self._received = received

    def makefile(self, _mode: str) -> BytesIO:
        return BytesIO(self._received)


def _read(method: str, received: bytes) -> Response:
    response = HTTPResponse(cast("socket", _Socket(received)), method=method)
    response.begin()
    return Response(response.status, response.read())
