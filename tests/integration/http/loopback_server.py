"""Real servers on loopback, and claims to send to them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from ssl import SSLContext
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.dispatch.http.connections import HttpSettings
from cadenza.adapters.dispatch.http.dispatcher import HttpDispatcher
from cadenza.domain.errors import NotFound
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Policy
from cadenza.domain.scheduling.run import Claim, Outcome
from cadenza.domain.scheduling.target import HttpTarget
from cadenza.testing import an_endpoint
from cadenza.testing.clock import NEW_YEAR

HERE = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Request:
    """What a server was sent."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


Reply = Callable[[Request, asyncio.StreamWriter], Awaitable[None] | None]


@dataclass(slots=True)
class Server:
    """What reached a server."""

    host: str = HERE
    port: int = 0
    connections: int = 0
    closed: int = 0
    requests: list[Request] = field(default_factory=list)

    def url(self, path: str = "/", host: str | None = None) -> str:
        return f"http://{host or self.host}:{self.port}{path}"

    @property
    def last(self) -> Request:
        return self.requests[-1]


def answer(body: bytes | str = b"", status: int = 200, **headers: str) -> bytes:
    """A whole response; header names are written with underscores."""
    content = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(content)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + content


def says(body: bytes | str = b"", status: int = 200, **headers: str) -> Reply:
    """A server that always answers this."""
    content = answer(body, status, **headers)
    return lambda _, writer: writer.write(content)


@asynccontextmanager
async def a_server(
    reply: Reply | None = None, *, host: str = HERE, port: int = 0, tls: SSLContext | None = None
) -> AsyncIterator[Server]:
    """A server that answers every request by `reply`, and remembers what it got."""
    server, tasks = Server(host), set[asyncio.Task[Any]]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        tasks.update(filter(None, [asyncio.current_task()]))
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await _converse(server, reply or says(), reader, writer)
        server.closed += 1
        writer.close()

    listening = await asyncio.start_server(serve, host, port, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _converse(
    server: Server, reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    while True:
        request = await _read(reader)
        server.requests.append(request)
        done = reply(request, writer)
        if done is not None:
            await done
        await writer.drain()


async def _read(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    method, path, _ = head[0].split(" ")
    headers = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in head[1:] if line}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, path, headers, body)


class FakeSecrets:
    """Secrets that a test made up."""

    def __init__(self, **values: str) -> None:
        self.values = values
        self.asked: list[tuple[str, str]] = []

    async def reveal(self, tenant_id: str, reference: str) -> str:
        self.asked.append((tenant_id, reference))
        name = reference.partition(":")[2]
        if name not in self.values:
            raise NotFound(f"Secret {reference} not found.")
        return self.values[name]


class FakeNames(AbstractResolver):
    """Answers for each name in turn what a test says; the last answer stays."""

    def __init__(self, **answers: list[list[str]]) -> None:
        self.answers = {name.replace("_", "."): addresses for name, addresses in answers.items()}
        self.asked: list[str] = []

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
        self.asked.append(host)
        if host not in self.answers:
            raise OSError("no such name")
        turns = self.answers[host]
        addresses = turns.pop(0) if len(turns) > 1 else turns[0]
        return [
            ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=0)
            for address in addresses
        ]

    async def close(self) -> None:
        pass


def a_claim(target: HttpTarget, *, name: str = "endpoint", timeout_ms: int = 2_000) -> Claim:
    """A claim to run this target now."""
    return Claim(
        run_id="run-1",
        token="token",
        endpoint=an_endpoint(name, target=target, policy=Policy(timeout_ms=timeout_ms)),
        slot=NEW_YEAR,
        due_at=NEW_YEAR,
        attempt=1,
        source=Source.FIRST,
        claimed_at=NEW_YEAR,
        lease_until=NEW_YEAR,
        started_at=NEW_YEAR,
    )


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what happens in another task or thread."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - there is nobody who could set an event
            await asyncio.sleep(0.005)


@asynccontextmanager
async def a_dispatcher(
    secrets: FakeSecrets | None = None, names: AbstractResolver | None = None, **settings: Any
) -> AsyncIterator[HttpDispatcher]:
    """A dispatcher that may reach this machine, unless a test says how far it may."""
    given = settings or {"allow": (HERE,)}
    async with HttpDispatcher(
        secrets=secrets or FakeSecrets(),
        clock=SystemClock(),
        settings=HttpSettings(**given),
        resolver=names,
    ) as dispatcher:
        yield dispatcher


async def run(url: str, method: str = "GET", secrets: FakeSecrets | None = None, **fields: Any) -> Outcome:
    """One exchange with a server on this machine."""
    async with a_dispatcher(secrets) as dispatcher:
        return await dispatcher.execute(a_claim(HttpTarget(url, method, **fields)))
