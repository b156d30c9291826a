"""`WS /v1/ws`: who comes in, and on which terms."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from starlette.routing import WebSocketRoute
from starlette.types import Receive, Scope, Send

from cadenza.domain.errors import CadenzaError, InvalidRequest, Unavailable
from cadenza.operations.agents.socket_users import Guest, Visiting
from cadenza.surfaces.http.auth import Gate, nobody
from cadenza.surfaces.http.problems import TOO_MANY, Refusal
from cadenza.surfaces.http.service import Take, in_time
from cadenza.surfaces.websocket import frames
from cadenza.surfaces.websocket.background_tasks import Tending
from cadenza.surfaces.websocket.connection import NOT_ADMITTED, TRY_LATER, Closing, Gone, Line
from cadenza.surfaces.websocket.frames import Hello, Say
from cadenza.surfaces.websocket.limits import SocketLimits
from cadenza.surfaces.websocket.registry import Lobby
from cadenza.surfaces.websocket.user_socket import House, Session

PATH = "/v1/ws"
FIRST_A_HELLO = "The first frame must be a hello."


class SocketDoor:
    """An application for one path."""

    def __init__(self, visiting: Visiting, *, gate: Gate, take: Take, limits: SocketLimits) -> None:
        dependencies = visiting.application.dependencies
        self._visiting = visiting
        self._ids = dependencies.ids
        self._gate = gate
        self._take = take
        self._limits = limits
        self._tending = Tending(dependencies.log.warning)
        self._house = House(limits, self._talk, self._tending, Counter())
        self._waiting = 0
        self.lobby = Lobby(self._visiting, limits.per_user)

    def routes(self) -> list[WebSocketRoute]:
        """Where it is."""
        return [WebSocketRoute(PATH, self)]

    def count(self) -> int:
        """How many users' sockets there are."""
        return len(self.lobby)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection from its handshake to its end."""
        line = Line(scope, receive, send, slow_s=self._limits.slow_s)
        try:
            await line.open()
            await self._serve(line, scope)
        except Gone:
            return
        except Closing as closing:
            await line.close(closing.code, closing.reason)
        except Exception as problem:  # noqa: BLE001 - A bug costs this socket alone.
            failed = self._tending.failed(problem)
            await line.close(failed.code, failed.reason)

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """From the start of the application to its end."""
        works = [asyncio.create_task(work) for work in (self._visiting.streams.run(), self.lobby.watch())]
        try:
            yield
        finally:
            for work in works:
                work.cancel()
            await asyncio.gather(*works, return_exceptions=True)
            await self._tending.finish(self._limits.grace_s)

    async def _serve(self, line: Line, scope: Scope) -> None:
        name = self._ids.new()
        async with AsyncExitStack() as stack:
            try:
                hello = await self._hello(line)
                guest = await self._admitted(hello, scope)
                await self.lobby.make_room(guest.user)
                stream = await stack.enter_async_context(self._visiting.stream(guest, hello.last_seq))
            except (CadenzaError, Refusal) as problem:
                await line.tell(frames.error(problem, request_id=name))
                raise _turned_away(problem) from None
            session = Session(line, stream, guest=guest, acks=hello.acks, house=self._house, name=name)
            stack.enter_context(self.lobby.present(session))
            await session.run()

    async def _hello(self, line: Line) -> Hello:
        if self._waiting >= self._limits.waiting:
            raise Refusal(TOO_MANY, "Too many are at the door; come again in a moment.")
        self._waiting += 1
        try:
            async with asyncio.timeout(self._limits.hello_s):
                hello = frames.read(await line.hear(), self._limits.frame_bytes)
        except TimeoutError:
            raise nobody(FIRST_A_HELLO) from None
        finally:
            self._waiting -= 1
        if not isinstance(hello, Hello):
            raise InvalidRequest(FIRST_A_HELLO, "type")
        return hello

    async def _admitted(self, hello: Hello, scope: Scope) -> Guest:
        wait = self._gate.patience(scope)
        if wait is not None:
            raise wait
        guest = await self._visiting.admit(hello.token, hello.user_id)
        if guest is None:
            self._gate.note_failure(scope)
            raise nobody("This token is not known, or no longer.")
        await in_time(self._take, guest.caller)
        return guest

    async def _talk(self, guest: Guest, say: Say) -> int | None:
        await in_time(self._take, guest.caller)
        return await self._visiting.say(
            guest, agent_id=say.agent_id, text=say.text, idempotency_key=say.idempotency_key
        )


def _turned_away(problem: CadenzaError | Refusal) -> Closing:
    """How a connection ends that was not let in."""
    later = isinstance(problem, Unavailable) or (isinstance(problem, Refusal) and problem.kind is TOO_MANY)
    return Closing(TRY_LATER if later else NOT_ADMITTED, "You are not let in; the last frame says why.")
