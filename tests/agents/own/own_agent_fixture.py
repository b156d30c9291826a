"""Agents outside of Cadenza around a store in memory, with time at hand."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.agents.agent_fixtures import ADA, HELPER, MINUTE, TENANT, AgentFixture

from cadenza.adapters.agents.by_model import RuntimeByModel
from cadenza.adapters.agents.offline.agent import OfflineAgent
from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.null import NoLog
from cadenza.domain.access.key import Caller
from cadenza.domain.agents.agent_turn import AgentTurn
from cadenza.domain.agents.delivery import CanvasCommand
from cadenza.domain.agents.users import Agent, Runtime, UserKey, agent_target
from cadenza.domain.json_values import Json
from cadenza.engine.agents.own_agents import HttpAgents, PullAgents
from cadenza.engine.worker.sweeper import Sweeper
from cadenza.operations.access.key_tokens import caller_of_turn
from cadenza.ports.agents import AgentRuntime, CallTool, Prompt, Reply
from cadenza.ports.own_agents.turns import SentTurn
from cadenza.ports.store import Store

Behaviour = Callable[[AgentTurn, str], Awaitable[SentTurn]]


class ScriptedService:
    """An HTTP agent that answers as a test says, and remembers what it was sent."""

    def __init__(self) -> None:
        self.behaviours: list[Behaviour | SentTurn] = []
        self.sent: list[tuple[AgentTurn, str]] = []

    async def send(self, agent: Agent, turn: AgentTurn, token: str) -> SentTurn:
        assert agent.target is not None
        self.sent.append((turn, token))
        behaviour = self.behaviours.pop(0)
        return behaviour if isinstance(behaviour, SentTurn) else await behaviour(turn, token)


class LateRuntime:
    """Stands for a runtime that is made after the clock it needs."""

    runtime: AgentRuntime

    async def process_prompt(self, prompt: Prompt, call: CallTool) -> Reply:
        return await self.runtime.process_prompt(prompt, call)


class OwnAgentFixture(AgentFixture):
    """The users ada and ben, and the agent helper, which is a pull agent or an HTTP agent."""

    def __init__(self, store: Store | None = None) -> None:
        late = LateRuntime()
        super().__init__(late, store=store)
        self.service = ScriptedService()
        turns = self.store.agent_turns
        pull = PullAgents(store=turns, clock=self.clock)
        secret = self.dependencies.token_generator.secret
        http = HttpAgents(turns=pull, store=turns, sender=self.service, secret=secret)
        late.runtime = RuntimeByModel(
            offline=OfflineAgent(),
            open_llm=OfflineAgent,
            default_model=None,
            allowed=(),
            outside={Runtime.PULL: pull, Runtime.HTTP: http},
        )

    async def with_runtime(self, runtime: Runtime) -> "OwnAgentFixture":
        await self.open()
        target = agent_target("https://agent.example", {}, []) if runtime is Runtime.HTTP else None
        agent = Agent(id=HELPER, tenant_id=TENANT, name="Helper", runtime=runtime, target=target)
        await self.store.agents.put_agent(agent)
        return self

    async def take(self, **words: Any) -> Any:
        """Take a turn; None if there is none."""
        for _ in range(20):  # Whoever offers it may not have come that far.
            await asyncio.sleep(0)
        given = {"agent_id": HELPER, "wait_seconds": 0, **words}
        return (await self.ask("take_agent_turn", **given))["taken"]

    async def do(self, operation: str, taken: Any, **words: Any) -> Any:
        """Do something with a turn that was taken."""
        return await self.ask(operation, turn_id=taken["id"], turn_token=taken["token"], **words)

    async def call(self, taken: Any, tool: str, **arguments: Any) -> Any:
        """Call a tool of a turn that was taken."""
        return await self.do("call_agent_turn_tool", taken, tool=tool, arguments=arguments)

    async def with_token(self, operation: str, token: str, **words: Any) -> Any:
        """Do something with nothing but the token of a turn."""
        caller = await caller_of_turn(self.store.agent_turns, token)
        assert isinstance(caller, Caller), "the token is not valid"
        return (await self.application.ask(operation, words, caller)).model_dump(mode="json")

    async def fire_again(self) -> None:
        """Let the lease of a worker that died run out, and another worker fire what it had in flight."""
        await self.clock.advance(MINUTE)
        store, log = self.store.endpoints, NoLog()
        await Sweeper(store=store, clock=self.clock, cron=CronsimCron(), log=log).sweep()
        for _ in range(3):
            await self.clock.advance(10_000)
            await self.worker.run_once()

    async def drawn(self) -> list[Json]:
        """The canvas commands that were delivered, in their order."""
        found = await self.store.deliveries.deliveries(UserKey(TENANT, ADA), after=0, limit=100)
        return [one.message.command for one in found if isinstance(one.message, CanvasCommand)]

    @asynccontextmanager
    async def said(self, text: str = "Hello.") -> AsyncIterator["asyncio.Task[str]"]:
        """A message that waits for its answer."""
        waiting = asyncio.create_task(self.say(text))
        try:
            yield waiting
        finally:
            waiting.cancel()
            await asyncio.wait([waiting])
