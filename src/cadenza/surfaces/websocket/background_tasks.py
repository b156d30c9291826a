"""What sockets begin and do not wait for: it goes on when they are gone."""

import asyncio
from collections.abc import Callable, Coroutine
from traceback import format_exception
from typing import Any

from cadenza.surfaces.websocket.connection import UNEXPECTED, Closing

Warn = Callable[..., None]


class Tending:
    """Work that outlives its socket, until it is done or the process ends."""

    def __init__(self, warn: Warn) -> None:
        self._warn = warn
        self._works: set[asyncio.Task[None]] = set()

    def keep(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Do it to its end."""
        task = asyncio.create_task(work)
        self._works.add(task)
        task.add_done_callback(self._works.discard)
        return task

    def failed(self, problem: Exception) -> Closing:
        """Report a bug; how to end the socket that met it."""
        trace = "".join(format_exception(problem))
        self._warn("a socket failed unexpectedly", error=type(problem).__name__, trace=trace)
        return Closing(UNEXPECTED, "Something went wrong here; nothing is lost, come again.")

    async def finish(self, within_s: float) -> None:
        """Let everything end by itself, for a while; the rest is called off."""
        if self._works:
            await asyncio.wait(self._works, timeout=within_s)
        for work in list(self._works):
            work.cancel()
        await asyncio.gather(*self._works, return_exceptions=True)
