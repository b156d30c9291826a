"""Connections: pooled, and made through sockets that the reach has judged."""

import ssl
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from math import inf
from typing import Self

import aiohttp
from aiohttp.abc import AbstractResolver

from cadenza.adapters.dispatch.http.failure import explained
from cadenza.adapters.dispatch.http.hop import Hop
from cadenza.adapters.dispatch.http.resolver import SystemNames
from cadenza.adapters.dispatch.http.ssrf_guard import Reach


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """How far requests may reach, and how connections are kept."""

    allow_private: bool = False
    """Whether private, loopback and shared addresses are targets like any other."""
    allow: tuple[str, ...] = ()
    """Networks and hosts that are open whatever they are: `10.0.0.0/8`, `127.0.0.1:8701`, `intranet:80`."""
    keepalive_ms: int = 4_000
    """How long an idle connection is kept: less than the five seconds after which common servers close it."""
    names_ms: int = 10_000
    """How long the addresses of a name are remembered."""
    tls: ssl.SSLContext | None = None
    """Whom to trust; by default the authorities that the system trusts."""


Send = Callable[[aiohttp.ClientRequest], Awaitable[aiohttp.ClientResponse]]
SHORTEST_TIMEOUT_S = 0.001
"""To aiohttp, none at all would be no limit."""
NO_TYPE = ("Content-Type",)
"""What has no body has no type either; aiohttp would add one."""


class Sessions:
    """One pool for the internet and, if the operator trusts names, one for those, without a guard.

    The number of connections is the number of exchanges at a time, which the
    worker bounds. Nothing comes from the environment: no proxy, no netrc; and no
    cookie is kept.
    """

    def __init__(self, settings: HttpSettings, resolver: AbstractResolver | None = None) -> None:
        self.reach = Reach(allow_private=settings.allow_private, allow=settings.allow)
        self._settings = settings
        self._resolver = resolver
        self._stack = AsyncExitStack()
        self._guarded: aiohttp.ClientSession | None = None
        self._trusting: aiohttp.ClientSession | None = None

    async def open(self) -> Self:
        """Make the pools."""
        resolver = self._resolver or SystemNames()
        self._stack.push_async_callback(resolver.close)
        self._guarded = await self._opened(resolver, guarded=True)
        if self.reach.has_names:
            self._trusting = await self._opened(resolver, guarded=False)
        return self

    async def close(self) -> None:
        """Close every connection."""
        await self._stack.aclose()

    def send(self, hop: Hop, *, headers: dict[str, str], left_s: float) -> Awaitable[aiohttp.ClientResponse]:
        """Send one request, once, and come back with the head of its answer.

        TimeoutError if the time that is left runs out, now or while the body is read.
        """
        trusted = self._trusting is not None and self.reach.trusts(hop.url)
        session = self._trusting if trusted else self._guarded
        assert session is not None, "open the dispatcher before it executes"
        # By default a timeout of more than five seconds is rounded up to a whole second.
        timeout = aiohttp.ClientTimeout(
            max(left_s, SHORTEST_TIMEOUT_S), sock_connect=None, ceil_threshold=inf
        )
        return session.request(
            hop.method,
            hop.url,
            headers=headers,
            skip_auto_headers=None if hop.body is not None or hop.method == "GET" else NO_TYPE,
            data=hop.body,
            allow_redirects=False,
            timeout=timeout,
        )

    async def _opened(self, resolver: AbstractResolver, *, guarded: bool) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=0,
            resolver=resolver,
            ttl_dns_cache=self._settings.names_ms // 1_000,
            use_dns_cache=self._settings.names_ms > 0,
            keepalive_timeout=self._settings.keepalive_ms / 1_000,
            ssl=self._settings.tls or True,
            socket_factory=self.reach.open_socket if guarded else None,
        )
        session = aiohttp.ClientSession(
            connector=connector,
            headers={"User-Agent": user_agent(), "Accept": "*/*", "Accept-Encoding": "gzip, deflate"},
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            middlewares=(_sent_once,),
        )
        return await self._stack.enter_async_context(session)


async def _sent_once(request: aiohttp.ClientRequest, send: Send) -> aiohttp.ClientResponse:
    """Turn errors into our own before aiohttp sees them: it would send a GET or PUT again by itself."""
    try:
        return await send(request)
    except TimeoutError:
        raise
    except (aiohttp.ClientError, OSError) as problem:
        raise explained(problem) from None


@cache
def user_agent() -> str:
    """How Cadenza introduces itself."""
    try:
        return f"cadenza/{version('cadenza')}"
    except PackageNotFoundError:
        return "cadenza"
