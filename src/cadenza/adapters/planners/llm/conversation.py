"""An analysis as a conversation with a model, until it submits its analysis or reaches a limit."""

from collections.abc import Sequence

from pydantic_ai.messages import ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart
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
from cadenza.adapters.planners.llm.model import ModelClient, ModelFailed
from cadenza.adapters.planners.llm.tools import SUBMIT, SUBMIT_SCHEMA, AnalysisTools, SubmitAnalysis
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.planning.analysis import Tokens

REMINDER = f"Do not answer in plain text. Call a tool; when you are done, call {SUBMIT}."


class AnalysisConversation:
    """The conversation of one analysis; `tokens` is what it used, even if it fails."""

    def __init__(
        self, client: ModelClient, tools: AnalysisTools, *, limits: LlmLimits, instructions: str
    ) -> None:
        self._exchange = ModelExchange(client, limits, instructions)
        self._tools = tools
        self._limits = limits

    @property
    def tokens(self) -> Tokens:
        """The tokens used so far."""
        return self._exchange.tokens

    async def run(self, briefing: str) -> SubmitAnalysis:
        """Exchange messages until the model submits its analysis.

        1. When the steps or the tokens allow one more request only, that is the last.
        2. In the last, the only tool is the one that submits the analysis.
        3. A request that would exceed the tokens is not made.
        """
        self._exchange.add(
            [UserPromptPart(briefing)], extra=length_of((*self._tools.tool_schemas, SUBMIT_SCHEMA))
        )
        for step in range(1, self._limits.steps + 1):
            last = step == self._limits.steps or not self._exchange.can_afford(2)
            response = await self._exchange.ask(
                _parameters([] if last else self._tools.tool_schemas), "analysis"
            )
            self._exchange.add(await self._call_results(response, last=last))
            if self._tools.submitted is not None:
                return self._tools.submitted
            if last:
                break
        raise ModelFailed(f"The model did not submit its analysis within {step} steps.")

    async def _call_results(self, response: ModelResponse, *, last: bool) -> Sequence[MessagePart]:
        if not response.tool_calls:
            return [UserPromptPart(REMINDER)]
        over = self._exchange.is_over_budget
        return [
            ToolReturnPart(
                call.tool_name, await self._call_result(call, number, last=last or over), call.tool_call_id
            )
            for number, call in enumerate(response.tool_calls)
        ]

    async def _call_result(self, call: ToolCallPart, number: int, *, last: bool) -> str:
        try:
            arguments = arguments_of(call, number)
        except InvalidRequest as problem:
            return quoted_json({"refused": problem.message})
        return await self._tools.answer(call.tool_name, arguments, only_end=last)


def _parameters(tool_schemas: Sequence[ToolSchema]) -> ModelRequestParameters:
    """These tools and the one that submits; plain text is not accepted."""
    return ModelRequestParameters(
        function_tools=[definition(shape) for shape in tool_schemas],
        output_mode="tool",
        output_tools=[definition(SUBMIT_SCHEMA, "output")],
        allow_text_output=False,
    )
