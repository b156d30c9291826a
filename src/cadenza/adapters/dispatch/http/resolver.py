"""The system's name resolution, in threads of its own."""

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from aiohttp.abc import AbstractResolver, ResolveResult

THREADS = 16
NUMERIC = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
MOST_ADDRESSES = 8
"""The addresses that are tried for one name; an answer can hold thousands."""


class SystemResolver(AbstractResolver):
    """Resolves names in its own threads, so that slow lookups do not block other users of threads."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="names")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of a name, in the order the system prefers."""
        ask = partial(socket.getaddrinfo, host, port, family, socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
        try:
            infos = await asyncio.get_running_loop().run_in_executor(self._threads, ask)
        except UnicodeError:
            raise socket.gaierror(socket.EAI_NONAME, "not a name") from None
        return [
            ResolveResult(
                hostname=host, host=str(address[0]), port=port, family=found, proto=protocol, flags=NUMERIC
            )
            for found, _, protocol, _, address in infos[:MOST_ADDRESSES]
        ]

    async def close(self) -> None:
        """Release the threads; a lookup that hangs ends by the system's own timeout."""
        self._threads.shutdown(wait=False, cancel_futures=True)
