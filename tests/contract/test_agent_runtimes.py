"""Every agent runtime keeps its contract."""

from collections.abc import Awaitable, Callable

import pytest
from pydantic_ai.models import Model
from tests.agents.llm.scripted_model import MODEL, ScriptedModel
from tests.agents.scripted_agent import ScriptedAgent, failed

from cadenza.adapters.agents.by_model import RuntimeByModel
from cadenza.adapters.agents.llm.agent import LlmAgent
from cadenza.adapters.agents.offline.agent import OfflineAgent
from cadenza.domain.errors import Unavailable
from cadenza.ports.agents import AgentRuntime
from cadenza.testing.contracts import AgentRuntimeContract


async def no_wait(_: float) -> None:
    """Retries do not wait."""


def an_llm_agent(open_model: Callable[[str], Model], sleep: Callable[[float], Awaitable[None]]) -> LlmAgent:
    return LlmAgent(open_model, default=MODEL, sleep=sleep)


def no_model(_: str) -> Model:
    raise Unavailable("There is no such model.")


class TestOfflineAgent(AgentRuntimeContract):
    @pytest.fixture
    def runtime(self) -> AgentRuntime:
        return OfflineAgent()


class TestLlmAgent(AgentRuntimeContract):
    @pytest.fixture
    def runtime(self) -> AgentRuntime:
        return an_llm_agent(lambda _: ScriptedModel("Hello.").model, no_wait)

    @pytest.fixture
    def broken(self) -> AgentRuntime:
        return an_llm_agent(no_model, no_wait)


class TestRuntimeByModel(AgentRuntimeContract):
    @pytest.fixture
    def runtime(self) -> AgentRuntime:
        return RuntimeByModel(
            offline=OfflineAgent(), open_llm=OfflineAgent, default_model=None, allowed=[MODEL]
        )

    @pytest.fixture
    def broken(self) -> AgentRuntime:
        return RuntimeByModel(
            offline=OfflineAgent(),
            open_llm=lambda: an_llm_agent(no_model, no_wait),
            default_model=MODEL,
            allowed=[MODEL],
        )


class TestScriptedAgent(AgentRuntimeContract):
    @pytest.fixture
    def runtime(self) -> AgentRuntime:
        return ScriptedAgent()

    @pytest.fixture
    def broken(self) -> AgentRuntime:
        return ScriptedAgent(failed())
