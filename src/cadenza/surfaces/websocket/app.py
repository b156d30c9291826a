"""`WS /v1/ws`: authentication, limits, and the life of each socket."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from starlette.routing import WebSocketRoute
from starlette.types import Receive, Scope, Send

from cadenza.domain.errors import CadenzaError, InvalidRequest, Unavailable
from cadenza.operations.agents.socket_users import SocketUser, SocketUsers
from cadenza.surfaces.http.auth import Authenticator, unauthorized
from cadenza.surfaces.http.problems import TOO_MANY, Refusal
from cadenza.surfaces.http.service import RateLimit, check_rate
from cadenza.surfaces.websocket import frames
from cadenza.surfaces.websocket.connection import (
    NOT_ADMITTED,
    TRY_LATER,
    BackgroundTasks,
    CloseSocket,
    Disconnected,
    SocketConnection,
)
from cadenza.surfaces.websocket.frames import HelloFrame, MessageFrame
from cadenza.surfaces.websocket.limits import SocketLimits, WaitingClients
from cadenza.surfaces.websocket.registry import SocketRegistry
from cadenza.surfaces.websocket.user_socket import SharedSockets, UserSocket

PATH = "/v1/ws"
FIRST_A_HELLO = "The first frame must be a hello."


class SocketApp:
    """The ASGI application of the users' sockets."""

    def __init__(
        self,
        socket_users: SocketUsers,
        *,
        authenticator: Authenticator,
        rate_limit: RateLimit,
        limits: SocketLimits,
    ) -> None:
        dependencies = socket_users.application.dependencies
        self._socket_users = socket_users
        self._ids = dependencies.ids
        self._authenticator = authenticator
        self._rate_limit = rate_limit
        self._limits = limits
        self._tasks = BackgroundTasks(dependencies.log.warning)
        self._clients = WaitingClients(limits.waiting)
        self.registry = SocketRegistry(self._socket_users, limits)
        self._shared = SharedSockets(
            limits, self._answer_message, self.registry.admits, self._tasks, unanswered=Counter()
        )

    def routes(self) -> list[WebSocketRoute]:
        """Its route."""
        return [WebSocketRoute(PATH, self)]

    def count(self) -> int:
        """How many sockets are open."""
        return len(self.registry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection from its handshake to its end."""
        connection = SocketConnection(scope, receive, send, slow_s=self._limits.slow_s)
        try:
            await connection.open()
            await self._serve(connection, scope)
        except Disconnected:
            return
        except CloseSocket as closing:
            await connection.close(closing.code, closing.reason)
        except Exception as problem:  # noqa: BLE001 - A bug costs this socket alone.
            failed = self._tasks.failed(problem)
            await connection.close(failed.code, failed.reason)

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Run the background work from the start of the application to its end."""
        works = [
            asyncio.create_task(work) for work in (self._socket_users.streams.run(), self.registry.watch())
        ]
        try:
            yield
        finally:
            for work in works:
                work.cancel()
            await asyncio.gather(*works, return_exceptions=True)
            await self._tasks.finish(self._limits.grace_s)

    async def _serve(self, connection: SocketConnection, scope: Scope) -> None:
        name = self._ids.new()
        async with AsyncExitStack() as stack:
            try:
                hello = await self._hello(connection)
                socket_user = await self._authenticate(hello, scope)
                await self.registry.check_limit(socket_user.user)
                stream = await stack.enter_async_context(
                    self._socket_users.stream(socket_user, hello.last_seq)
                )
            except (CadenzaError, Refusal) as problem:
                await connection.send(frames.error(problem, request_id=name))
                raise _closing(problem) from None
            socket = UserSocket(
                connection, stream, socket_user=socket_user, acks=hello.acks, shared=self._shared, name=name
            )
            stack.enter_context(self.registry.registered(socket))
            await socket.run()

    async def _hello(self, connection: SocketConnection) -> HelloFrame:
        try:
            with self._clients.waiting(connection):
                async with asyncio.timeout(self._limits.hello_s):
                    hello = frames.read(await connection.receive(), self._limits.frame_bytes)
        except TimeoutError:
            raise unauthorized(FIRST_A_HELLO) from None
        if not isinstance(hello, HelloFrame):
            raise InvalidRequest(FIRST_A_HELLO, "type")
        return hello

    async def _authenticate(self, hello: HelloFrame, scope: Scope) -> SocketUser:
        look_up = partial(self._socket_users.authenticate, hello.token, hello.user_id)
        socket_user = await self._authenticator.check(scope, look_up)
        if socket_user is None:
            raise unauthorized("This token is invalid, expired or deleted.")
        await check_rate(self._rate_limit, socket_user.caller)
        return socket_user

    async def _answer_message(self, socket_user: SocketUser, message: MessageFrame) -> int | None:
        await check_rate(self._rate_limit, socket_user.caller)
        return await self._socket_users.say(
            socket_user, agent_id=message.agent_id, text=message.text, idempotency_key=message.idempotency_key
        )


def _closing(problem: CadenzaError | Refusal) -> CloseSocket:
    """The close code of a connection that was refused."""
    later = isinstance(problem, Unavailable) or (isinstance(problem, Refusal) and problem.kind is TOO_MANY)
    return CloseSocket(TRY_LATER if later else NOT_ADMITTED, "Not admitted; the last frame says why.")
