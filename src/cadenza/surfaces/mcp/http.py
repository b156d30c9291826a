"""MCP over HTTP, within the API and with the same keys."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import orjson
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cadenza.domain.access.key import Caller
from cadenza.domain.errors import CadenzaError, Unavailable
from cadenza.operations.application import Application
from cadenza.surfaces.http.problems import NOT_ALLOWED, WRONG_METHOD, Refusal, describe_problem
from cadenza.surfaces.http.request import LARGEST_BODY, body_of, parsed_body, single_header
from cadenza.surfaces.http.response import problem_response
from cadenza.surfaces.mcp.caller import EXTRA, McpCaller, application_caller, missing_extra

if TYPE_CHECKING:  # The library takes a second to import; whoever has no agents does not wait for it.
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATHS = ("/mcp", "/mcp/")
HEADERS = ("Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name")
"""Headers that MCP clients send."""
MCP_CALLER = "cadenza.mcp_caller"
REMEDY = "ask for a key that has it"

Authenticate = Callable[[Scope], Awaitable[tuple[Caller, str]]]
"""The caller and their key; Refusal without a valid key or above the rate limit."""


def _check_size(body: bytes) -> None:
    """Refuse a body with too many values; one that is no JSON is for the library to answer."""
    with suppress(orjson.JSONDecodeError):
        parsed_body(body)


def _again(body: bytes, receive: Receive) -> Receive:
    """A way to receive a body that was read already, and then whatever comes after it."""
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def received() -> Message:
        return next(messages, None) or await receive()

    return received


class McpEndpoint:
    """The ASGI application for MCP, without sessions: any process can take any request.

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
            body = await body_of(scope, receive)
            _check_size(body)
            within = await self._within()
        except (CadenzaError, Refusal) as problem:
            await problem_response(describe_problem(problem, scope["cadenza.request_id"])).send(scope, send)
            return
        scope[MCP_CALLER] = application_caller(self._application, caller, remedy=REMEDY)
        await within(scope, _again(body, receive), send)

    def _check(self, scope: Scope) -> None:
        """Only POST, and only from allowed origins.

        A browser sends the origin with every POST, so a page that had its own name
        pointed at this machine (DNS rebinding) is refused.
        """
        if scope["method"] != "POST":
            raise Refusal(WRONG_METHOD, "Only POST is allowed.", {"Allow": "POST"})
        origin = single_header(scope, b"origin")
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
        """Run the MCP library's manager from the first request to the end of the application."""
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

        from cadenza.surfaces.mcp.server import McpRequest, mcp_server

        def find_caller(request: McpRequest) -> McpCaller:
            assert request.request is not None, "it came over HTTP"
            mcp_caller: McpCaller = request.request.scope[MCP_CALLER]
            return mcp_caller

        log = self._application.dependencies.log
        return StreamableHTTPSessionManager(
            mcp_server(find_caller, version=self._version, warn=log.warning),
            json_response=True,
            stateless=True,
            max_request_body_size=LARGEST_BODY,
        )


def mount(
    application: Application, authenticate: Authenticate, *, version: str, origins: Sequence[str] = ()
) -> McpEndpoint:
    """The MCP application of an application; its mount must run its lifespan."""
    return McpEndpoint(application, authenticate, version=version, origins=origins)


def routes(endpoint: McpEndpoint) -> list[Route]:
    """Its routes, with and without a slash: not every client follows a redirect."""
    return [Route(path, endpoint) for path in PATHS]
