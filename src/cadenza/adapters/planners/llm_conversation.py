"""A sitting as a conversation: the model asks, we answer, until it submits or has used up its allowance."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from cadenza.adapters.planners.llm_briefing import quoted_json
from cadenza.adapters.planners.llm_model import GaveUp, Line
from cadenza.adapters.planners.llm_tools import SUBMIT, THE_END, Shape, SubmitAnalysis, Toolbox
from cadenza.domain.analysis import Tokens

CHARACTERS_PER_TOKEN = 3
"""Fewer than there are, so that an estimate is rather too high."""
LEAST_ANSWER = 200
"""With fewer tokens left, no answer is worth asking for."""
MOST_CALLS_AT_ONCE = 20
Said = UserPromptPart | ToolReturnPart
REMINDER = f"Do not answer in plain text. Call a tool; when you are done, call {SUBMIT}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one sitting may take up."""

    steps: int = 8
    """Answers of the model; the last must be its analysis."""
    input_tokens: int = 40_000
    output_tokens: int = 4_000
    timeout_s: float = 60.0
    attempts: int = 4
    """How often one question is put, if the provider fails."""
    acts: int = 10
    """Calls of steering tools."""


class Conversation:
    """One sitting. `tokens` tells what it has spent, also when it comes to nothing."""

    def __init__(self, line: Line, toolbox: Toolbox, limits: Limits) -> None:
        self._line = line
        self._toolbox = toolbox
        self._limits = limits
        self._until = asyncio.get_running_loop().time() + limits.timeout_s
        self._messages: list[ModelMessage] = []
        self._next_input = 0
        """About how many tokens the next question has."""
        self.tokens = Tokens()

    async def hold(self, instructions: str, briefing: str) -> SubmitAnalysis:
        """Talk until the model submits its analysis.

        1. When the steps or the tokens leave room for one more question, that is the last.
        2. In the last, only the analysis can be submitted.
        3. What does not fit into the tokens is not asked.
        """
        self._say([UserPromptPart(briefing)], instructions, extra=_length(self._toolbox.shapes))
        for step in range(1, self._limits.steps + 1):
            last = step == self._limits.steps or not self._affords(2)
            response = await self._ask(last=last)
            self._say(await self._answers(response, last=last), instructions)
            if self._toolbox.submitted is not None:
                return self._toolbox.submitted
            if last:
                break
        raise GaveUp(f"The model did not submit its analysis within {step} steps.")

    def _say(self, parts: Sequence[Said], instructions: str, *, extra: int = 0) -> None:
        self._messages.append(ModelRequest(parts=parts, instructions=instructions))
        said = sum(len(str(part.content)) for part in parts)
        if not self._next_input:
            said += len(instructions) + extra
        self._next_input += said // CHARACTERS_PER_TOKEN

    def _affords(self, questions: int) -> bool:
        limits, spent = self._limits, self.tokens
        return (
            spent.input + questions * self._next_input <= limits.input_tokens
            and spent.output + questions * LEAST_ANSWER <= limits.output_tokens
        )

    async def _ask(self, *, last: bool) -> ModelResponse:
        if not self._affords(1):
            raise GaveUp(
                f"The sitting has spent its tokens ({self.tokens.input} in, {self.tokens.output} out)."
            )
        response = await self._line.ask(
            self._messages,
            parameters=_parameters([] if last else self._toolbox.shapes),
            most_tokens=self._limits.output_tokens - self.tokens.output,
            until=self._until,
        )
        usage = response.usage
        self.tokens = Tokens(self.tokens.input + usage.input_tokens, self.tokens.output + usage.output_tokens)
        self._next_input = max(self._next_input, usage.input_tokens) + usage.output_tokens
        self._messages.append(response)
        return response

    async def _answers(self, response: ModelResponse, *, last: bool) -> Sequence[Said]:
        if not response.tool_calls:
            return [UserPromptPart(REMINDER)]
        over = not self._within_tokens()
        return [
            ToolReturnPart(
                call.tool_name, await self._answer(call, number, last=last or over), call.tool_call_id
            )
            for number, call in enumerate(response.tool_calls)
        ]

    async def _answer(self, call: ToolCallPart, number: int, *, last: bool) -> str:
        if number >= MOST_CALLS_AT_ONCE:
            return quoted_json({"refused": "These are too many calls at once."})
        try:
            arguments = call.args_as_dict(raise_if_invalid=True)
        except (ValueError, AssertionError):
            return quoted_json({"refused": "The arguments are not a JSON object."})
        return await self._toolbox.answer(call.tool_name, arguments, only_end=last)

    def _within_tokens(self) -> bool:
        limits, spent = self._limits, self.tokens
        return spent.input <= limits.input_tokens and spent.output <= limits.output_tokens


def _parameters(shapes: Sequence[Shape]) -> ModelRequestParameters:
    """These tools and the end of the sitting; plain text is no answer."""
    return ModelRequestParameters(
        function_tools=[_definition(shape, "function") for shape in shapes],
        output_mode="tool",
        output_tools=[_definition(THE_END, "output")],
        allow_text_output=False,
    )


def _definition(shape: Shape, kind: Literal["function", "output"]) -> ToolDefinition:
    return ToolDefinition(
        name=shape.name, description=shape.description, parameters_json_schema=shape.schema, kind=kind
    )


def _length(shapes: Sequence[Shape]) -> int:
    return sum(len(quoted_json(list(shape))) for shape in (*shapes, THE_END))
