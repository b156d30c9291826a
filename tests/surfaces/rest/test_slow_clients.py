"""Clients that are silent, slow or many cost the others nothing."""

import asyncio
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, Router
from tests.surfaces.server_process import UP, running

from cadenza.roots.api import ApiServer, listening_socket
from cadenza.roots.settings import Settings
from cadenza.surfaces.http.protocol import ConnectionLimits

SHORT = ConnectionLimits(connections=3, head_s=0.5, body_s=0.5, read_s=0.5, head_bytes=1_000)
SILENT = 1_200
Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def echo(request: Request) -> Response:
    return PlainTextResponse(await request.body())


async def much(_: Request) -> Response:
    return PlainTextResponse(b"x" * (64 << 20))


@asynccontextmanager
async def serving() -> AsyncIterator[int]:
    app = Router([Route("/echo", echo, methods=["POST"]), Route("/much", much)])
    with listening_socket("127.0.0.1", 0) as listening:
        server = ApiServer(Settings(grace_ms=1_000), app, SHORT)
        task = asyncio.create_task(server.serve([listening]))
        yield listening.getsockname()[1]
        server.stop()
        await task


async def line_to(port: int, sent: bytes = b"") -> Line:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    return reader, writer


async def rest_of(line: Line) -> bytes:
    async with asyncio.timeout(20):
        try:
            return await line[0].read()
        except ConnectionResetError:
            return b""
        finally:
            line[1].close()


ECHO = b"POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 2\r\n"


@pytest.mark.parametrize(
    "sent",
    [b"", b"POST /echo HT", ECHO, ECHO + b"\r\nh", ECHO + b"\r\nhiPOST /"],
    ids=["silent", "half a line", "half a head", "half a body", "half a second request"],
)
async def test_a_client_that_does_not_go_on_is_cut_off(sent: bytes) -> None:
    async with serving() as port:
        answer = await rest_of(await line_to(port, sent))
    assert answer.split(b"\r\n\r\nhi")[-1].startswith(b"HTTP/1.1 408 ")


async def test_a_client_that_goes_on_is_answered() -> None:
    async with serving() as port:
        line = await line_to(port, ECHO[:10])
        await asyncio.sleep(0)
        line[1].write(ECHO[10:] + b"Connection: close\r\n\r\nhi")
        assert (await rest_of(line)).endswith(b"\r\n\r\nhi")


async def test_a_client_that_does_not_read_is_cut_off() -> None:
    async with serving() as port:
        line = await line_to(port, b"GET /much HTTP/1.1\r\nHost: here\r\n\r\n")
        await line[0].readline()  # The reader takes as much as its buffer holds, and no more.
        await asyncio.sleep(SHORT.read_s * 3)
        assert len(await rest_of(line)) < 64 << 20


@pytest.mark.parametrize("head", [b"A: " + b"x" * 2_000 + b"\r\n", b"A: b\r\n" * 1_000], ids=["long", "many"])
async def test_a_head_that_is_too_large_is_refused(head: bytes) -> None:
    async with serving() as port:
        answer = await rest_of(await line_to(port, ECHO + head + b"\r\nhi"))
    assert answer.startswith(b"HTTP/1.1 431 ")


async def test_of_too_many_connections_the_longest_idle_is_closed() -> None:
    async with serving() as port:
        silent = [await line_to(port) for _ in range(SHORT.connections)]
        line = await line_to(port, ECHO + b"Connection: close\r\n\r\nhi")
        assert (await rest_of(line)).endswith(b"\r\n\r\nhi")
        assert await rest_of(silent[0]) == b""
        for one in silent[1:]:
            assert (await rest_of(one)).startswith(b"HTTP/1.1 408 ")


def test_silent_clients_do_not_make_a_server_unreachable(tmp_path: Path) -> None:
    """The server begins with the usual limit of 1,024 open files."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1_024, hard))
    with running(tmp_path, UP) as program:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4_096, hard), hard))
        port = int(program.address.rsplit(":", 1)[1])

        async def crowd() -> bytes:
            silent = [await line_to(port) for _ in range(SILENT)]
            line = await line_to(port, b"GET /healthz HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
            answer = await rest_of(line)
            for _, writer in silent:
                writer.close()
            return answer

        assert asyncio.run(crowd()).startswith(b"HTTP/1.1 200 ")
