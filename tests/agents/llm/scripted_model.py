"""A model with scripted answers; the last one is repeated."""

from collections.abc import Callable, Sequence
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage
from tests.agents.agent_fixtures import AgentFixture

from cadenza.adapters.agents.llm.agent import LlmAgent
from cadenza.adapters.planners.llm.client import LlmLimits

Made = tuple[str, Any]
MODEL = "test:model"


class ScriptedModel:
    """Answers with text or tool calls, and records the tools it was offered and the messages it read."""

    def __init__(self, *answers: Sequence[Made] | str, tokens: tuple[int, int] = (500, 50)) -> None:
        self._answers = answers
        self._tokens = tokens
        self.offered: list[list[str]] = []
        self.heard: list[str] = []
        self.read: list[ModelMessage] = []
        self.instructions: list[str] = []

    @property
    def model(self) -> FunctionModel:
        return FunctionModel(self._answer)

    @property
    def prompts(self) -> list[str]:
        """What users said, as the model read it the last time."""
        requests = [one for one in self.read if isinstance(one, ModelRequest)]
        parts = [part for one in requests for part in one.parts if isinstance(part, UserPromptPart)]
        return [str(part.content) for part in parts]

    def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.offered.append([tool.name for tool in info.function_tools])
        self.instructions.append(info.instructions or "")
        self.read = messages
        last = messages[-1]
        assert isinstance(last, ModelRequest)
        self.heard += [str(part.content) for part in last.parts if isinstance(part, ToolReturnPart)]
        answer = self._answers[min(len(self.offered), len(self._answers)) - 1]
        input_tokens, output_tokens = self._tokens
        parts = [TextPart(answer)] if isinstance(answer, str) else [ToolCallPart(*made) for made in answer]
        return ModelResponse(
            parts, usage=RequestUsage(input_tokens=input_tokens, output_tokens=output_tokens)
        )


async def with_model(model: Model | Callable[[str], Model], **limits: Any) -> AgentFixture:
    """Users and a helper with this model; retries do not wait."""

    async def sleep(_: float) -> None:
        return

    opened = (lambda _: model) if isinstance(model, Model) else model
    return await AgentFixture(LlmAgent(opened, limits=LlmLimits(**limits), sleep=sleep)).open(model=MODEL)
