"""MCP over standard input and output."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from threading import Thread
from typing import Any, cast

from anyio import AsyncFile
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


class InputLines:
    """The lines of a file, read by a daemon thread.

    The library's own reader cannot be interrupted: a signal would find it
    waiting for a line that never comes, and so would the end of the program.
    """

    def __init__(self, file: int) -> None:
        self._file = file
        self._loop = asyncio.get_running_loop()
        self._read: asyncio.Queue[str | None] = asyncio.Queue()

    def _follow(self) -> None:
        with suppress(RuntimeError), open(self._file, encoding="utf-8", errors="replace") as lines:  # noqa: PTH123
            for line in lines:
                self._loop.call_soon_threadsafe(self._read.put_nowait, line)
            self._loop.call_soon_threadsafe(self._read.put_nowait, None)

    async def __aiter__(self) -> AsyncIterator[str]:
        Thread(target=self._follow, daemon=True, name="standard input").start()
        while (line := await self._read.get()) is not None:
            yield line


async def serve(server: Server[Any]) -> None:
    """Serve until standard input is closed or a signal comes."""
    serving = asyncio.ensure_future(_serve(server))
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
    with suppress(asyncio.CancelledError):
        await serving


async def _serve(server: Server[Any]) -> None:
    lines = InputLines(os.dup(sys.stdin.fileno()))
    # What is printed meanwhile goes to standard error: the library keeps the wire for itself.
    async with stdio_server(stdin=cast("AsyncFile[str]", lines)) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
