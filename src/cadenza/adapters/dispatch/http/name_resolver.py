"""Name resolution without threads: bounded for each tenant, with a deadline, and cached."""

import asyncio
import socket
from collections.abc import Sequence
from contextvars import ContextVar
from time import monotonic
from typing import NamedTuple
from weakref import WeakValueDictionary

import aiodns
from aiohttp.abc import AbstractResolver, ResolveResult
from pycares import AddrInfoResult

LOOKUPS_OF_A_TENANT = 16
DEADLINE_S = 5.0
"""How long an exchange waits for the addresses of a name, with the wait for one of the tenant's lookups."""
TRIES = 4
"""How often a server is asked; the wait doubles from a quarter of a second if it usually answers quickly."""
SHORTEST_S, LONGEST_S = 1, 60
"""Bounds of the TTL; what comes from the hosts file has a TTL of 0."""
FAILURE_S = 5
MOST_CACHED = 4_096
MOST_ADDRESSES = 8
"""The addresses that are tried for one name; an answer can hold thousands."""
NUMERIC = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV

lookups_for = ContextVar("lookups_for", default="")
"""The tenant on whose behalf names are looked up."""


class NameUnanswered(OSError):
    """Raised when no server answered for a name in time."""


class NameAnswer(NamedTuple):
    """What is known about a name until a moment of the monotonic clock: addresses, or why there are none."""

    until: float
    addresses: tuple[tuple[str, int], ...] = ()
    failure: type[OSError] | None = None


class NameResolver(AbstractResolver):
    """Resolves names as the system does (hosts file, search domains, servers), but without its threads.

    A name that is not answered holds one of its tenant's lookups until c-ares
    gives up, and nothing of any other tenant. Whoever needs a name that is being
    asked for waits for the same answer.
    """

    def __init__(self, servers: Sequence[str] | None = None) -> None:
        self._servers = servers
        self._dns: aiodns.DNSResolver | None = None
        self._answers: dict[tuple[str, int], NameAnswer] = {}
        self._asked: dict[tuple[str, int], asyncio.Task[NameAnswer]] = {}
        self._places = WeakValueDictionary[str, asyncio.Semaphore]()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of a name, best first; OSError if it has none, NameUnanswered if no answer came."""
        answer = await self._find((host, family))
        if answer.failure is not None:
            raise answer.failure(f"{host} has no address that could be found")
        return [
            ResolveResult(hostname=host, host=address, port=port, family=kind, proto=0, flags=NUMERIC)
            for address, kind in answer.addresses
        ]

    async def close(self) -> None:
        """End every lookup."""
        for task in self._asked.values():
            task.cancel()
        if self._dns is not None:
            await self._dns.close()

    async def _find(self, name: tuple[str, int]) -> NameAnswer:
        if (known := self._known(name)) is not None:
            return known
        try:
            async with asyncio.timeout(DEADLINE_S):
                return await self._ask(name)
        except TimeoutError:
            return NameAnswer(0, failure=NameUnanswered)

    def _known(self, name: tuple[str, int]) -> NameAnswer | None:
        known = self._answers.get(name)
        return known if known is not None and known.until > monotonic() else None

    async def _ask(self, name: tuple[str, int]) -> NameAnswer:
        """Wait for the answer of a lookup that is under way, or of a new one."""
        if name not in self._asked:
            places = self._places_of(lookups_for.get())
            await places.acquire()
            known = self._known(name)
            if known is not None or name in self._asked:
                places.release()
            else:
                self._start(name, places)
            if known is not None:
                return known
        # The lookup goes on if this caller is cancelled: others may wait for it.
        return await asyncio.shield(self._asked[name])

    def _places_of(self, tenant_id: str) -> asyncio.Semaphore:
        places = self._places.get(tenant_id) or asyncio.Semaphore(LOOKUPS_OF_A_TENANT)
        self._places[tenant_id] = places
        return places

    def _start(self, name: tuple[str, int], places: asyncio.Semaphore) -> None:
        """Ask, and give the place back when c-ares is done, which may be after the deadline."""

        def end(task: asyncio.Task[NameAnswer]) -> None:
            places.release()
            del self._asked[name]
            if not task.cancelled():
                self._keep(name, task.result())

        self._asked[name] = task = asyncio.create_task(self._query(*name))
        task.add_done_callback(end)

    async def _query(self, host: str, family: int) -> NameAnswer:
        if self._dns is None:
            self._dns = aiodns.DNSResolver(self._servers, tries=TRIES)
        try:
            found = await self._dns.getaddrinfo(host, socket.AddressFamily(family), type=socket.SOCK_STREAM)
        except aiodns.error.DNSError as problem:
            return NameAnswer(monotonic() + FAILURE_S, failure=_failure(problem))
        return _answer(found)

    def _keep(self, name: tuple[str, int], answer: NameAnswer) -> None:
        self._answers.pop(name, None)
        self._answers[name] = answer
        if len(self._answers) > MOST_CACHED:
            del self._answers[next(iter(self._answers))]


def _answer(found: AddrInfoResult) -> NameAnswer:
    ttl = min((node.ttl for node in found.nodes), default=0)
    addresses = tuple((node.addr[0].decode(), node.family) for node in found.nodes[:MOST_ADDRESSES])
    return NameAnswer(monotonic() + min(max(ttl, SHORTEST_S), LONGEST_S), addresses)


def _failure(problem: aiodns.error.DNSError) -> type[OSError]:
    unanswered = problem.args[0] in {aiodns.error.ARES_ETIMEOUT, aiodns.error.ARES_ECONNREFUSED}
    return NameUnanswered if unanswered else OSError
