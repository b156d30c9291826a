"""A pooler that hands sessions around: every transaction gets the server connection that rested longest."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import parse_qs, quote, urlsplit

from tests.integration.http.loopback_server import HERE

STARTUP_HEAD = 8
SSL_REQUEST, CANCEL_REQUEST = 80_877_103, 80_877_102
READY, IDLE, TERMINATE, NOTIFICATION = b"Z", b"I", b"X", b"A"


@dataclass
class Session:
    """One connection to the server, and what the server said when it was greeted."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    greeting: bytes = b""


@dataclass
class Pooler:
    """What it did."""

    url: str = ""
    transactions: int = 0
    sessions: deque[Session] = field(default_factory=deque)


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """The kind of a message, and the whole of it."""
    head = await reader.readexactly(5)
    return head[:1], head + await reader.readexactly(int.from_bytes(head[1:]) - 4)


async def _startup(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """The first message of a client; it may ask for TLS before, and gets none."""
    while True:
        head = await reader.readexactly(STARTUP_HEAD)
        kind = int.from_bytes(head[4:])
        whole = head + await reader.readexactly(int.from_bytes(head[:4]) - STARTUP_HEAD)
        if kind == CANCEL_REQUEST:
            raise ConnectionError
        if kind != SSL_REQUEST:
            return whole
        writer.write(b"N")


async def _greeted(path: str, startup: bytes) -> Session:
    session = Session(*await asyncio.open_unix_connection(path))
    session.writer.write(startup)
    kind = b""
    while kind != READY:
        kind, message = await _message(session.reader)
        session.greeting += message
    return session


async def _answered(session: Session, client: asyncio.StreamWriter) -> None:
    """Pass the server's answer on, until the session is idle again."""
    while True:
        kind, message = await _message(session.reader)
        if kind != NOTIFICATION:  # Whoever listened may have another session by now.
            client.write(message)
        if kind == READY and message[-1:] == IDLE:
            return


async def _converse(pooler: Pooler, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        kind, message = await _message(reader)
        if kind == TERMINATE:
            return
        session = pooler.sessions.popleft()
        pooler.transactions += 1
        session.writer.write(message)
        answering = asyncio.create_task(_answered(session, writer))
        while not answering.done():
            asking = asyncio.create_task(_message(reader))
            await asyncio.wait({answering, asking}, return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                session.writer.write(asking.result()[1])
            else:
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)
        pooler.sessions.append(session)


@asynccontextmanager
async def a_pooler(url: str, *, sessions: int = 4) -> AsyncIterator[Pooler]:
    """A pooler before the server that a URL names by its socket."""
    parts = urlsplit(url)
    asked = parse_qs(parts.query)
    path = f"{asked['host'][0]}/.s.PGSQL.{asked['port'][0]}"
    pooler, tasks = Pooler(), set[asyncio.Task[None]]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.update(filter(None, [asyncio.current_task()]))
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            startup = await _startup(reader, writer)
            while len(pooler.sessions) < sessions:
                pooler.sessions.append(await _greeted(path, startup))
            writer.write(pooler.sessions[0].greeting)
            await _converse(pooler, reader, writer)
        writer.close()

    listening = await asyncio.start_server(serve, HERE, 0)
    port = listening.sockets[0].getsockname()[1]
    pooler.url = f"postgresql://{parts.username}@{HERE}:{port}{quote(parts.path)}?sslmode=disable"
    try:
        yield pooler
    finally:
        listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for session in pooler.sessions:
            session.writer.close()
