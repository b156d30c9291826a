"""A TCP proxy on loopback whose connections can be cut, held, lost in silence and slowed down."""

import asyncio
import socket
import struct
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

HERE = "127.0.0.1"
CHUNK = 65_536
RESET_ON_CLOSE = struct.pack("ii", 1, 0)
"""SO_LINGER with no time left: a close then sends RST instead of FIN."""
Result = TypeVar("Result")


@dataclass(eq=False)
class ProxiedConnection:
    """One client's connection, and the one to the server that belongs to it."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    lost: bool = False
    """Whether nothing that is sent on it arrives any more; neither side is told."""
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def reset(self) -> None:
        """End both sides with RST."""
        for writer in (self.client, self.server):
            with suppress(OSError):
                writer.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE
                )
            writer.transport.abort()


class TcpProxy:
    """Listens on a port of its own and passes everything on to a server, until it is told otherwise.

    It has a thread of its own, so tests may block. Each method takes effect before it returns. What
    happens is a matter of the mode that is set last; connections made later are treated alike.
    """

    def __init__(self, server_port: int) -> None:
        self.server_port = server_port
        """Where new connections are passed on to; it may be changed at any time."""
        self.port = 0
        self.delay_s = 0.0
        """How long each chunk is held back, in either direction."""
        self.accepted = 0
        """How many connections clients have made."""
        self._refuses = False
        self._connections: set[ProxiedConnection] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._flows = self._call(self._new_flag())
        self._listening = self._call(asyncio.start_server(self._serve, HERE, 0))
        self.port = self._listening.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cut(self) -> None:
        """End all connections with RST; new ones are served."""
        self._do(self._reset_all)

    def refuse(self) -> None:
        """End all connections with RST, and new ones as soon as they are made, until `heal`."""
        self._refuses = True
        self.cut()

    def lose(self) -> None:
        """Make all connections half-open for good: nothing arrives, nobody is told. New ones are served."""
        self._do(self._lose_all)

    def hold(self) -> None:
        """Pass nothing on until `heal`, on old and new connections alike; nobody is told."""
        self._do(self._flows.clear)

    def heal(self) -> None:
        """Pass on what was held back, and everything from now on; what was lost stays lost."""
        self._refuses = False
        self.delay_s = 0.0
        self._do(self._flows.set)

    @property
    def open_connections(self) -> int:
        return len(self._connections)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        try:
            from_server, to_server = await asyncio.open_connection(HERE, self.server_port)
        except OSError:
            writer.close()
            return
        connection = ProxiedConnection(writer, to_server)
        if self._refuses:
            connection.reset()
            return
        self._connections.add(connection)
        ways = ((reader, to_server), (from_server, writer))
        connection.tasks = [asyncio.create_task(self._pass_on(connection, *way)) for way in ways]
        with suppress(asyncio.CancelledError):
            await asyncio.wait(connection.tasks, return_when=asyncio.FIRST_COMPLETED)
        if connection in self._connections:
            self._connections.discard(connection)
            for task in connection.tasks:
                task.cancel()
            writer.close()
            to_server.close()

    async def _pass_on(
        self, connection: ProxiedConnection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Copy one direction until its end. The end is passed on like data: not while nothing flows."""
        with suppress(OSError):
            while chunk := await reader.read(CHUNK):
                await self._until_it_flows(connection)
                writer.write(chunk)
                await writer.drain()
        await self._until_it_flows(connection)

    async def _until_it_flows(self, connection: ProxiedConnection) -> None:
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        await self._flows.wait()
        if connection.lost:
            await self._loop.create_future()

    def _reset_all(self) -> None:
        connections, self._connections = self._connections, set()
        for connection in connections:
            for task in connection.tasks:
                task.cancel()
            connection.reset()

    def _lose_all(self) -> None:
        for connection in self._connections:
            connection.lost = True

    async def _new_flag(self) -> asyncio.Event:
        flag = asyncio.Event()
        flag.set()
        return flag

    async def _end(self) -> None:
        self._listening.close()
        self._reset_all()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def _do(self, change: Callable[[], None]) -> None:
        async def done() -> None:
            change()

        self._call(done())

    def _call(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=30)
