"""MCP over HTTP: one door in the API, for callers with the same keys."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from cadenza.domain.access.key import Caller
from cadenza.domain.errors import CadenzaError, Unavailable
from cadenza.operations.application import Application
from cadenza.surfaces.http.headers import given
from cadenza.surfaces.http.problems import NOT_ALLOWED, WRONG_METHOD, Refusal, told
from cadenza.surfaces.http.request import LARGEST_BODY
from cadenza.surfaces.http.response import of_problem
from cadenza.surfaces.mcp.caller import Visit, for_application
from cadenza.surfaces.mcp.server import EXTRA, missing_extra

if TYPE_CHECKING:  # The library takes a second to import; whoever has no agents does not wait for it.
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATHS = ("/mcp", "/mcp/")
HEADERS = ("Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name")
"""What callers send beside the usual."""
VISIT = "cadenza.visit"
REMEDY = "ask for a key that has it"

Authenticate = Callable[[Scope], Awaitable[tuple[Caller, str]]]
"""Who asks, and their key; a Refusal if nobody knows them, or if they ask too often."""


class McpEndpoint:
    """An application for one path, without sessions: any process can take any request.

    The library is loaded for the first caller, in a thread, and its manager
    then runs until the application ends.
    """

    def __init__(
        self,
        application: Application,
        authenticate: Authenticate,
        *,
        version: str,
        origins: Sequence[str] = (),
    ) -> None:
        self._application = application
        self._authenticate = authenticate
        self._version = version
        self._origins = frozenset(origins)
        self._wanted = asyncio.Event()
        self._open: asyncio.Future[ASGIApp] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        scope["cadenza.operation"] = "mcp"
        try:
            self._check(scope)
            caller, _ = await self._authenticate(scope)
            within = await self._within()
        except (CadenzaError, Refusal) as problem:
            await of_problem(told(problem, scope["cadenza.request_id"])).leave(scope, send)
            return
        scope[VISIT] = for_application(self._application, caller, remedy=REMEDY)
        await within(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        """Only POST, and only from pages that are known.

        A browser names the page behind every POST, and a page that had its own name
        pointed at this machine cannot name another: it does not get in by that.
        """
        if scope["method"] != "POST":
            raise Refusal(WRONG_METHOD, "Here one can POST.", {"Allow": "POST"})
        origin = given(scope, b"origin")
        if origin is not None and origin not in self._origins:
            raise Refusal(
                NOT_ALLOWED, "Pages of this origin may not ask; CADENZA_CORS_ORIGINS lists those that may."
            )

    async def _within(self) -> ASGIApp:
        assert self._open is not None, "its lifespan has begun"
        self._wanted.set()
        return await asyncio.shield(self._open)

    @asynccontextmanager
    async def lifespan(self, _: object = None) -> AsyncIterator[None]:
        """From the start of the application to its end."""
        self._open = asyncio.get_running_loop().create_future()
        keeping = asyncio.create_task(self._keep(self._open))
        try:
            yield
        finally:
            keeping.cancel()
            with suppress(asyncio.CancelledError):
                await keeping

    async def _keep(self, opened: "asyncio.Future[ASGIApp]") -> None:
        await self._wanted.wait()
        try:
            manager = await asyncio.to_thread(self._manager)
        except Exception as problem:  # noqa: BLE001 - Whoever waits is told, whatever it is.
            opened.set_exception(Unavailable(EXTRA) if missing_extra(problem) else problem)
            return
        async with manager.run():
            opened.set_result(manager.handle_request)
            await asyncio.get_running_loop().create_future()

    def _manager(self) -> "StreamableHTTPSessionManager":
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from cadenza.surfaces.mcp.server import Asked, mcp_server

        def visitor(asked: Asked) -> Visit:
            assert asked.request is not None, "it came over HTTP"
            visit: Visit = asked.request.scope[VISIT]
            return visit

        log = self._application.dependencies.log
        return StreamableHTTPSessionManager(
            mcp_server(visitor, version=self._version, warn=log.warning),
            json_response=True,
            stateless=True,
            max_request_body_size=LARGEST_BODY,
        )


def mount(
    application: Application, authenticate: Authenticate, *, version: str, origins: Sequence[str] = ()
) -> McpEndpoint:
    """The application of an application for agents; whoever mounts it runs its lifespan."""
    return McpEndpoint(application, authenticate, version=version, origins=origins)


def routes(endpoint: McpEndpoint) -> list[Route]:
    """Where it is; without a redirect from one to the other, which not every client follows."""
    return [Route(path, endpoint) for path in PATHS]
