"""A sitting as a conversation: the model asks, we answer, until it submits or has used up its allowance."""

from collections.abc import Sequence

from pydantic_ai.messages import ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters

from cadenza.adapters.planners.llm.briefing import quoted_json
from cadenza.adapters.planners.llm.client import (
    Limits,
    Said,
    Shape,
    Talk,
    arguments_of,
    definition,
    length_of,
)
from cadenza.adapters.planners.llm.model import GaveUp, Line
from cadenza.adapters.planners.llm.tools import SUBMIT, THE_END, SubmitAnalysis, Toolbox
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.planning.analysis import Tokens

REMINDER = f"Do not answer in plain text. Call a tool; when you are done, call {SUBMIT}."


class Conversation:
    """One sitting. `tokens` tells what it has spent, also when it comes to nothing."""

    def __init__(self, line: Line, toolbox: Toolbox, *, limits: Limits, instructions: str) -> None:
        self._talk = Talk(line, limits, instructions)
        self._toolbox = toolbox
        self._limits = limits

    @property
    def tokens(self) -> Tokens:
        """What it has spent."""
        return self._talk.tokens

    async def hold(self, briefing: str) -> SubmitAnalysis:
        """Talk until the model submits its analysis.

        1. When the steps or the tokens leave room for one more question, that is the last.
        2. In the last, only the analysis can be submitted.
        3. What does not fit into the tokens is not asked.
        """
        self._talk.say([UserPromptPart(briefing)], extra=length_of((*self._toolbox.shapes, THE_END)))
        for step in range(1, self._limits.steps + 1):
            last = step == self._limits.steps or not self._talk.affords(2)
            response = await self._talk.ask(_parameters([] if last else self._toolbox.shapes), "sitting")
            self._talk.say(await self._answers(response, last=last))
            if self._toolbox.submitted is not None:
                return self._toolbox.submitted
            if last:
                break
        raise GaveUp(f"The model did not submit its analysis within {step} steps.")

    async def _answers(self, response: ModelResponse, *, last: bool) -> Sequence[Said]:
        if not response.tool_calls:
            return [UserPromptPart(REMINDER)]
        over = self._talk.overspent
        return [
            ToolReturnPart(
                call.tool_name, await self._answer(call, number, last=last or over), call.tool_call_id
            )
            for number, call in enumerate(response.tool_calls)
        ]

    async def _answer(self, call: ToolCallPart, number: int, *, last: bool) -> str:
        try:
            arguments = arguments_of(call, number)
        except InvalidRequest as problem:
            return quoted_json({"refused": problem.message})
        return await self._toolbox.answer(call.tool_name, arguments, only_end=last)


def _parameters(shapes: Sequence[Shape]) -> ModelRequestParameters:
    """These tools and the end of the sitting; plain text is no answer."""
    return ModelRequestParameters(
        function_tools=[definition(shape) for shape in shapes],
        output_mode="tool",
        output_tools=[definition(THE_END, "output")],
        allow_text_output=False,
    )
