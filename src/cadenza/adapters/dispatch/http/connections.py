"""Connection pools whose sockets the SSRF guard has checked."""

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

from cadenza.adapters.dispatch.http.failure import as_exchange_failure
from cadenza.adapters.dispatch.http.hop import Hop
from cadenza.adapters.dispatch.http.name_resolver import NameResolver
from cadenza.adapters.dispatch.http.ssrf_guard import SsrfGuard


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """Which addresses requests may go to, and how long connections are kept."""

    allow_private: bool = False
    """Whether private, loopback and shared addresses are targets like any other."""
    allow: tuple[str, ...] = ()
    """Networks and hosts that are allowed in any case: `10.0.0.0/8`, `127.0.0.1:8701`, `intranet:80`."""
    keepalive_ms: int = 4_000
    """How long an idle connection is kept: less than the five seconds after which common servers close it."""
    tls: ssl.SSLContext | None = None
    """The TLS context; by default one with the system's certificate authorities."""


Send = Callable[[aiohttp.ClientRequest], Awaitable[aiohttp.ClientResponse]]
SHORTEST_TIMEOUT_S = 0.001
"""aiohttp takes 0 as no timeout."""
NO_TYPE = ("Content-Type",)
"""A request without a body has no content type; aiohttp would add one."""


class ConnectionPools:
    """One pool behind the SSRF guard and, if the operator allows host names, one for those without it.

    The number of connections is the number of exchanges at a time, which the
    worker bounds. Nothing comes from the environment: no proxy, no netrc; and no
    cookie is kept.
    """

    def __init__(self, settings: HttpSettings, resolver: AbstractResolver | None = None) -> None:
        self.guard = SsrfGuard(allow_private=settings.allow_private, allow=settings.allow)
        self._settings = settings
        self._resolver = resolver
        self._stack = AsyncExitStack()
        self._guarded: aiohttp.ClientSession | None = None
        self._unguarded: aiohttp.ClientSession | None = None

    async def open(self) -> Self:
        """Open the pools."""
        resolver = self._resolver or NameResolver()
        self._stack.push_async_callback(resolver.close)
        self._guarded = await self._open_session(resolver, guarded=True)
        if self.guard.has_names:
            self._unguarded = await self._open_session(resolver, guarded=False)
        return self

    async def close(self) -> None:
        """Close every connection."""
        await self._stack.aclose()

    def send(self, hop: Hop, *, headers: dict[str, str], left_s: float) -> Awaitable[aiohttp.ClientResponse]:
        """Send one request, once, and return the head of the response.

        TimeoutError if the time that is left runs out, now or while the body is read.
        """
        trusted = self._unguarded is not None and self.guard.trusts(hop.url)
        session = self._unguarded if trusted else self._guarded
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

    async def _open_session(self, resolver: AbstractResolver, *, guarded: bool) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=0,
            resolver=resolver,
            use_dns_cache=False,
            keepalive_timeout=self._settings.keepalive_ms / 1_000,
            ssl=self._settings.tls or True,
            socket_factory=self.guard.open_socket if guarded else None,
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
        raise as_exchange_failure(problem) from None


@cache
def user_agent() -> str:
    """The User-Agent header."""
    try:
        return f"cadenza/{version('cadenza')}"
    except PackageNotFoundError:
        return "cadenza"
