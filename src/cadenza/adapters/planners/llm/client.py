"""What is said to a model and what it answers, within its allowance of tokens and time."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

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

from cadenza.adapters.planners.llm.briefing import quoted_json
from cadenza.adapters.planners.llm.model import GaveUp, Line
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.planning.analysis import Tokens

CHARACTERS_PER_TOKEN = 3
"""Fewer than there are, so that an estimate is rather too high."""
LEAST_ANSWER = 200
"""With fewer tokens left, no answer is worth asking for."""
MOST_CALLS_AT_ONCE = 20
Said = UserPromptPart | ToolReturnPart


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one sitting, or one turn, may take up."""

    steps: int = 8
    """Answers of the model; the last must end it."""
    input_tokens: int = 40_000
    output_tokens: int = 4_000
    timeout_s: float = 60.0
    attempts: int = 4
    """How often one question is put, if the provider fails."""
    acts: int = 10
    """Calls of tools that change something."""


class Shape(NamedTuple):
    """A tool as it is shown to a model."""

    name: str
    description: str
    schema: dict[str, Any]


class Talk:
    """An exchange with a model. `tokens` tells what it has spent, also when it comes to nothing."""

    def __init__(self, line: Line, limits: Limits, instructions: str) -> None:
        self._line = line
        self._limits = limits
        self._instructions = instructions
        self._until = asyncio.get_running_loop().time() + limits.timeout_s
        self._messages: list[ModelMessage] = []
        self._next_input = len(instructions) // CHARACTERS_PER_TOKEN
        """About how many tokens the next question has."""
        self.tokens = Tokens()

    def recall(self, messages: Sequence[ModelMessage], length: int) -> None:
        """Begin with what was said long before: so many characters."""
        self._messages += messages
        self._next_input += length // CHARACTERS_PER_TOKEN

    def say(self, parts: Sequence[Said], *, extra: int = 0) -> None:
        """Have something read with the next question, and `extra` characters beside it."""
        self._messages.append(ModelRequest(parts=list(parts), instructions=self._instructions))
        said = sum(len(str(part.content)) for part in parts)
        self._next_input += (said + extra) // CHARACTERS_PER_TOKEN

    def affords(self, questions: int) -> bool:
        """Do the tokens allow so many questions more?"""
        limits, spent = self._limits, self.tokens
        return (
            spent.input + questions * self._next_input <= limits.input_tokens
            and spent.output + questions * LEAST_ANSWER <= limits.output_tokens
        )

    @property
    def overspent(self) -> bool:
        """Did the last answer cost more than there was?"""
        limits, spent = self._limits, self.tokens
        return spent.input > limits.input_tokens or spent.output > limits.output_tokens

    async def ask(self, parameters: ModelRequestParameters, what: str) -> ModelResponse:
        """The model's answer; GaveUp if there is none, or no allowance for the question."""
        if not self.affords(1):
            spent = self.tokens
            raise GaveUp(f"The {what} has spent its tokens ({spent.input} in, {spent.output} out).")
        response = await self._line.ask(
            self._messages,
            parameters=parameters,
            most_tokens=self._limits.output_tokens - self.tokens.output,
            until=self._until,
        )
        usage = response.usage
        self.tokens = Tokens(self.tokens.input + usage.input_tokens, self.tokens.output + usage.output_tokens)
        self._next_input = max(self._next_input, usage.input_tokens) + usage.output_tokens
        self._messages.append(response)
        return response


def arguments_of(call: ToolCallPart, number: int) -> Mapping[str, Any]:
    """What a model calls a tool with; InvalidRequest if that is no object, or one call too many at once."""
    if number >= MOST_CALLS_AT_ONCE:
        raise InvalidRequest("These are too many calls at once.")
    try:
        return call.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        raise InvalidRequest("The arguments are not a JSON object.") from None


def definition(shape: Shape, kind: Literal["function", "output"] = "function") -> ToolDefinition:
    """A tool as the library takes it."""
    return ToolDefinition(
        name=shape.name, description=shape.description, parameters_json_schema=shape.schema, kind=kind
    )


def length_of(shapes: Sequence[Shape]) -> int:
    """How many characters tools take up in a question."""
    return sum(len(quoted_json(list(shape))) for shape in shapes)
