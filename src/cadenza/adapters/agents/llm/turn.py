"""One turn with a model: it calls tools and reads their results, until it answers the user."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters

from cadenza.adapters.planners.llm.briefing import quoted_json
from cadenza.adapters.planners.llm.client import (
    LlmLimits,
    MessagePart,
    ModelExchange,
    ToolSchema,
    arguments_of,
    definition,
    length_of,
)
from cadenza.adapters.planners.llm.model import ModelFailed
from cadenza.domain.errors import CadenzaError, NotAllowed, NotFound
from cadenza.domain.validation import quoted
from cadenza.ports.agents import AgentTool, CallTool

LONGEST_RESULT = 12_000
REMINDER = "Answer the user, in plain words."


class LlmTurn:
    """Runs the steps of a turn; an invalid tool call is answered with its error, for the model to correct."""

    def __init__(
        self, exchange: ModelExchange, tools: Sequence[AgentTool], *, call: CallTool, limits: LlmLimits
    ) -> None:
        self._exchange = exchange
        self._last_calls = {tool.name for tool in tools if tool.ends_turn}
        self._has_ended = False
        self._tool_schemas = {
            tool.name: ToolSchema(tool.name, tool.description, dict(tool.schema)) for tool in tools
        }
        self._call = call
        self._limits = limits
        self._calls_left = limits.most_tool_calls

    async def run(self, message: str) -> str:
        """The model's answer to the user.

        1. When the steps or tokens allow one more request, that is the last one.
        2. The last request offers no tools, so that the model can only answer.
        3. A request that exceeds the token limit is not sent.
        4. A tool that ends the turn ends it without an answer.
        """
        self._exchange.add([UserPromptPart(message)], extra=length_of(list(self._tool_schemas.values())))
        for step in range(1, self._limits.steps + 1):
            last = step == self._limits.steps or not self._exchange.can_afford(2)
            response = await self._exchange.ask(self._parameters(last=last), "turn")
            if not response.tool_calls and (text := _text_of(response)):
                return text
            if last:
                break
            self._exchange.add(await self._answers(response))
            if self._has_ended:
                return ""
        raise ModelFailed(f"The model did not answer within {step} steps.")

    def _parameters(self, *, last: bool) -> ModelRequestParameters:
        tools = [] if last else [definition(schema) for schema in self._tool_schemas.values()]
        return ModelRequestParameters(function_tools=tools, allow_text_output=True)

    async def _answers(self, response: ModelResponse) -> Sequence[MessagePart]:
        if not response.tool_calls:
            return [UserPromptPart(REMINDER)]
        return [
            ToolReturnPart(call.tool_name, await self._answer(call, number), call.tool_call_id)
            for number, call in enumerate(response.tool_calls)
        ]

    async def _answer(self, call: ToolCallPart, number: int) -> str:
        try:
            return _cut(quoted_json(await self._called(call.tool_name, arguments_of(call, number))))
        except CadenzaError as problem:
            return quoted_json({"refused": problem.message})

    async def _called(self, name: str, arguments: Mapping[str, Any]) -> Any:
        if name not in self._tool_schemas:
            raise NotFound(
                f"Tool {quoted(name)} not found; available are {', '.join(self._tool_schemas) or 'none'}."
            )
        if self._exchange.is_over_budget or not self._calls_left:
            raise NotAllowed("Tool limit reached: answer the user now.")
        self._calls_left -= 1
        answer = await self._call(name, arguments)
        self._has_ended = self._has_ended or name in self._last_calls
        return answer


def _text_of(response: ModelResponse) -> str:
    return "\n".join(part.content for part in response.parts if isinstance(part, TextPart)).strip()


def _cut(answer: str) -> str:
    if len(answer) <= LONGEST_RESULT:
        return answer
    return f"{answer[:LONGEST_RESULT]} … (cut: {len(answer)} characters)"
