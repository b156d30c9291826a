"""What an agent runtime promises: one reply to one message, with effects through tools alone."""

from collections.abc import Mapping
from typing import Any

import pytest

from cadenza.domain.agents.conversation import FROM_USER, Message, Origin, OriginKind, Role
from cadenza.domain.agents.delivery import write_message
from cadenza.domain.agents.users import Agent, User
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.json_values import Json, json_size
from cadenza.ports.agents import AgentRuntime, AgentTool, Prompt
from cadenza.testing.clock import NEW_YEAR

TOOL = AgentTool("create_schedule", "Create a schedule.", {"type": "object", "properties": {}})


def a_prompt(words: str = "Hello.", *, origin: Origin = FROM_USER, **fields: Any) -> Prompt:
    """A message of the user ada to the agent helper."""
    given: dict[str, Any] = {
        "now": NEW_YEAR,
        "user": User(tenant_id="north", id="ada", timezone="Europe/Berlin"),
        "agent": Agent(tenant_id="north", id="helper", name="Helper"),
        "message": Message(id="message", role=Role.USER, text=words, at=NEW_YEAR, origin=origin),
        "words": words,
    }
    return Prompt(**(given | fields))


async def refuse(name: str, arguments: Mapping[str, Any]) -> Json:
    """A tool that refuses every call."""
    raise InvalidRequest(f"{name} cannot be called with {len(arguments)} arguments here.", name)


class AgentRuntimeContract:
    """A subclass gives the fixture `runtime`, and `broken` if its model or provider can fail."""

    @pytest.fixture
    def broken(self) -> AgentRuntime | None:
        """A runtime whose model does not answer; None if there is no such thing."""
        return None

    async def test_a_message_gets_an_answer(self, runtime: AgentRuntime) -> None:
        reply = await runtime.process_prompt(a_prompt(), refuse)
        assert reply.error is None
        assert reply.messages
        for message in reply.messages:
            assert json_size("message", write_message(message)) > 0

    async def test_a_scheduled_prompt_gets_an_answer_without_any_tool(self, runtime: AgentRuntime) -> None:
        origin = Origin(OriginKind.SCHEDULE, name="Pizza", schedule_id="sched-a7b3c")
        reply = await runtime.process_prompt(a_prompt("take it out", origin=origin), refuse)
        assert reply.error is None
        assert reply.messages

    async def test_a_tool_that_refuses_ends_in_a_reply(self, runtime: AgentRuntime) -> None:
        words = "Remind me in 20 minutes to take the pizza out."
        reply = await runtime.process_prompt(a_prompt(words, tools=(TOOL,)), refuse)
        assert reply.messages or reply.error

    async def test_it_says_what_it_spent(self, runtime: AgentRuntime) -> None:
        reply = await runtime.process_prompt(a_prompt(), refuse)
        assert min(reply.tokens) >= 0

    async def test_a_model_that_fails_is_a_reply_with_an_error(self, broken: AgentRuntime | None) -> None:
        if broken is not None:
            reply = await broken.process_prompt(a_prompt(), refuse)
            assert reply.error
            assert not reply.messages
