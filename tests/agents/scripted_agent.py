"""Agents that answer as a test says, and record their prompts."""

import asyncio
from collections.abc import Awaitable, Callable

from tests.agents.agent_fixtures import ADA, HELPER, MONDAY, TENANT, AgentFixture

from cadenza.domain.agents.conversation import ConversationKey
from cadenza.domain.agents.delivery import Subtitle
from cadenza.domain.agents.users import UserKey
from cadenza.domain.planning.analysis import Tokens
from cadenza.engine.agents.turn_lock import TurnSettings
from cadenza.ports.agents import CallTool, Prompt, Reply

CONVERSATION = ConversationKey(TENANT, ADA, HELPER)
Behaviour = Callable[[Prompt, CallTool], Awaitable[Reply]]


class ScriptedAgent:
    """An agent that answers as a test says, and records its prompts."""

    def __init__(self, *behaviours: Behaviour | Reply) -> None:
        self._behaviours = list(behaviours)
        self.prompts: list[Prompt] = []

    async def process_prompt(self, prompt: Prompt, call: CallTool) -> Reply:
        self.prompts.append(prompt)
        behaviour = self._behaviours.pop(0) if self._behaviours else reply(f"heard: {prompt.words}")
        return behaviour if isinstance(behaviour, Reply) else await behaviour(prompt, call)


def reply(*texts: str, tokens: int = 0) -> Reply:
    return Reply(tuple(map(Subtitle, texts)), Tokens(tokens, 0))


def failed(error: str = "The provider answered 500.", tokens: int = 0) -> Reply:
    return Reply(error=error, tokens=Tokens(tokens, 0))


async def make_agents(*behaviours: Behaviour | Reply, **turns: int) -> tuple[AgentFixture, ScriptedAgent]:
    runtime = ScriptedAgent(*behaviours)
    return await AgentFixture(runtime, turn_settings=TurnSettings(**turns)).open(), runtime


class BlockingAgent:
    """Answers when it is released."""

    def __init__(self) -> None:
        self.began, self.let_go = asyncio.Event(), asyncio.Event()

    async def __call__(self, prompt: Prompt, _: CallTool) -> Reply:
        self.began.set()
        await self.let_go.wait()
        return reply(f"thought: {prompt.words}")


async def spent(agents: AgentFixture) -> tuple[int, int]:
    return await agents.store.users.usage_of_user(UserKey(TENANT, ADA), MONDAY.date())
