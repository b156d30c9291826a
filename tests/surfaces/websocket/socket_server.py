"""A real server in this process, over the memory store, with agents that repeat what they hear."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from tests.surfaces.api_in_process import ApiInProcess
from tests.surfaces.websocket.socket_client import SocketClient, connect_raw, connect_with_token

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.domain.access.key import Caller, Scope
from cadenza.domain.agents.conversation import ConversationKey, Turn
from cadenza.domain.agents.delivery import Delivery, Subtitle
from cadenza.domain.agents.users import Agent, User, UserKey
from cadenza.domain.errors import NotFound
from cadenza.domain.json_values import Json
from cadenza.engine.agents.conversation import Conversations
from cadenza.engine.agents.turn_lock import TurnLock
from cadenza.operations.agents.users_agents import UserTokenView
from cadenza.operations.application import Application
from cadenza.operations.operation import View
from cadenza.ports.agents import AgentTool, CallTool, Prompt, Reply
from cadenza.roots.api import ApiServer, address_of, listening_socket
from cadenza.roots.settings import Settings
from cadenza.surfaces.http.app import ApiOptions, http_app
from cadenza.surfaces.http.service import RateLimit
from cadenza.surfaces.websocket.limits import SocketLimits

TENANT = "north"


class MovableClock(SystemClock):
    """The clock on the wall, moved on by hand."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def now(self) -> datetime:
        return super().now() + self.ahead


class EchoAgents:
    """Agents that repeat what they hear, unless they are told to fail, to break, or to think for a while."""

    def __init__(self) -> None:
        self.thinking = asyncio.Event()
        self.let_go = asyncio.Event()

    async def process_prompt(self, prompt: Prompt, call: CallTool) -> Reply:
        if prompt.words == "break":
            raise ZeroDivisionError
        if prompt.words == "fail":
            return Reply(error="the model does not answer")
        if prompt.words == "think":
            self.thinking.set()
            await self.let_go.wait()
        scheduled = " (scheduled)" if prompt.scheduled else ""
        return Reply([Subtitle(f"{prompt.agent.id}{scheduled}: {prompt.words}")])


class NoTools:
    """Agents that can only speak."""

    def offered(self, caller: Caller) -> Sequence[AgentTool]:
        return []

    async def call(self, caller: Caller, name: str, arguments: Mapping[str, Any]) -> Json:
        raise NotFound(f"Tool {name} not found.")


class SocketServer:
    """A server with users and agents."""

    def __init__(self, limits: SocketLimits, take: RateLimit) -> None:
        self._api = ApiInProcess()
        self.clock = MovableClock()
        self.store = self._api.store
        self.log = self._api.log
        self.parrots = EchoAgents()
        ids = TimeOrderedIds()
        conversations = Conversations(
            store=self.store,
            runtime=self.parrots,
            tools=NoTools(),
            turn_lock=TurnLock(store=self.store.conversations, clock=self.clock, ids=ids),
            clock=self.clock,
            ids=ids,
        )
        dependencies = replace(
            self._api.application.dependencies, clock=self.clock, conversations=conversations
        )
        self.application = Application(dependencies)
        options = ApiOptions(version="1.2.3", rate_limit=take, sockets=limits)
        self.app = http_app(self.application, options)
        self.metrics = options.metrics
        self.address = ""
        self.server: ApiServer | None = None
        self._firings = 0

    def count(self) -> int:
        """How many sockets there are, as whoever watches is told."""
        told = re.search(r"^cadenza_sockets (\d+)", self.metrics.to_text().decode(), re.MULTILINE)
        assert told is not None
        return int(told[1])

    async def gone(self, left: int) -> None:
        """Wait until there are only so many sockets."""
        async with asyncio.timeout(60):
            while self.count() != left:  # noqa: ASYNC110 - It is told in a figure.
                await asyncio.sleep(0.005)

    async def revoke(self) -> None:
        """Take the tenant's own key back."""
        (key,) = await self.store.keys.keys(TENANT)
        await self.ask("delete_key", key_id=key.id)

    async def ask(self, name: str, **arguments: Any) -> View:
        """Ask as the tenant's own operator."""
        return await self.application.ask(name, arguments, Caller(TENANT, frozenset({Scope.ADMIN}), "test"))

    async def create_users(self, *users: str) -> None:
        for user in users:
            await self.store.users.put_user(User(id=user, tenant_id=TENANT))
        for agent in ("helper", "other"):
            await self.store.agents.put_agent(Agent(id=agent, name=agent, tenant_id=TENANT))

    async def key(self, tenant_id: str = TENANT) -> str:
        """A key of the tenant itself."""
        return await self._api.key(tenant_id)

    async def token(self, user_id: str = "ada", *, ttl_seconds: int = 3_600) -> str:
        """A token that speaks for one user alone."""
        made = await self.ask("create_user_token", user_id=user_id, ttl_seconds=ttl_seconds)
        assert isinstance(made, UserTokenView)
        return made.token

    async def fire(self, *texts: str, user_id: str = "ada") -> list[Delivery]:
        """Something fires, and leaves messages for a user."""
        self._firings += 1
        now = self.clock.now()
        turn = Turn(
            id=f"firing-{self._firings}",
            conversation=ConversationKey(TENANT, user_id, "helper"),
            began_at=now,
            ended_at=now,
            to_deliver=tuple(map(Subtitle, texts)),
            schedule_id="sched-a7b3c",
            firing=f"firing-{self._firings}",
        )
        owed = await self.store.conversations.commit_turn(turn)
        assert owed is not None
        return owed

    async def undelivered(self, user_id: str = "ada") -> list[int]:
        """The numbers of what is not delivered yet."""
        user = UserKey(TENANT, user_id)
        found = await self.store.deliveries.undelivered(user, after=0, limit=100_000)
        return [one.seq for one in found]

    async def settle_owed(self, wanted: Sequence[int], user_id: str = "ada") -> None:
        """Wait until exactly this is owed: acknowledgements are written down a moment after they came."""
        async with asyncio.timeout(60):
            while await self.undelivered(user_id) != list(wanted):  # noqa: ASYNC110 - It is a store that changes.
                await asyncio.sleep(0.005)

    @asynccontextmanager
    async def connect_user(self, user_id: str = "ada", **hello: Any) -> AsyncIterator[SocketClient]:
        """A user with a token of their own."""
        async with connect_with_token(self.address, await self.token(user_id), **hello) as client:
            yield client


@asynccontextmanager
async def open_socket_server(
    *, take: RateLimit | None = None, ping_ms: int = 20_000, **limits: Any
) -> AsyncIterator[SocketServer]:
    """A server that accepts connections."""

    async def no_limit(_: Caller) -> None:
        return None

    socket_server = SocketServer(SocketLimits(**limits), take or no_limit)
    await socket_server.create_users("ada", "bob")
    with listening_socket("127.0.0.1", 0) as listening:
        server = ApiServer(Settings(grace_ms=5_000, socket_ping_ms=ping_ms), socket_server.app)
        socket_server.address = address_of(listening)
        socket_server.server = server
        serving = asyncio.create_task(server.serve([listening.dup()]))
        try:
            yield socket_server
        finally:
            server.stop()
            await serving


async def refused_hello(socket_server: SocketServer, first: Any) -> tuple[str, int]:
    """What somebody is told who is not let in, and how the socket ends."""
    async with connect_raw(socket_server.address) as client:
        await client.send(first)
        problem = await client.receive_error()
        return problem["type"].removeprefix("/problems/"), await client.ended()
