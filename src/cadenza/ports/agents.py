"""What answers users, and what it may use while it does."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from cadenza.domain.access.key import Caller
from cadenza.domain.agents.conversation import Message, OriginKind
from cadenza.domain.agents.delivery import SocketMessage
from cadenza.domain.agents.users import Agent, User
from cadenza.domain.planning.analysis import Tokens
from cadenza.domain.scheduling.target import Json

CallTool = Callable[[str, Mapping[str, Any]], Awaitable[Json]]
"""Calls a tool by its name. A CadenzaError is a refusal, whose sentence is for the agent to read."""


class Tool(NamedTuple):
    """A tool as it is shown to an agent."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What an agent is to answer, and all that it is told."""

    now: datetime
    user: User
    agent: Agent
    message: Message
    """As it stands in the conversation. Its origin, and not its text, tells whether a schedule fired."""
    words: str
    """What was said, without the mark of a schedule."""
    history: Sequence[Message] = ()
    """What was said before, oldest first."""
    tools: Sequence[Tool] = ()
    """What may be called in this turn; nothing that is said in it adds to them."""
    most_tokens: int | None = None
    """What the user's day leaves."""

    @property
    def fired(self) -> bool:
        """Did something else than the user start this turn?"""
        return self.message.origin.kind is not OriginKind.USER


class Reply(NamedTuple):
    """How a turn ended."""

    messages: Sequence[SocketMessage] = ()
    tokens: Tokens = Tokens()
    error: str | None = None
    """Why it came to nothing; what it spent is counted all the same."""


class AgentRuntime(Protocol):
    """Lets an agent answer."""

    async def process_prompt(self, prompt: Prompt, call: CallTool) -> Reply:
        """The agent's answer to one message, after whatever tools it called.

        What a model or its provider does wrong is an answer with an error. It takes a
        bounded number of steps and tokens, and acts through tools alone.
        """
        ...


class Tools(Protocol):
    """The tools of agents: what users may ask for themselves, asked for in their name."""

    def offered(self, caller: Caller) -> Sequence[Tool]:
        """What an agent may use while it speaks for this caller's user."""
        ...

    async def call(self, caller: Caller, name: str, arguments: Mapping[str, Any]) -> Json:
        """Use a tool; a CadenzaError if there is none, or it refuses."""
        ...
