"""An exchange with a model, within limits of tokens and time."""

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
from cadenza.adapters.planners.llm.model import ModelClient, ModelFailed
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.planning.analysis import Tokens

CHARACTERS_PER_TOKEN = 3
"""Fewer than the average, so that an estimate is rather too high."""
LEAST_ANSWER = 200
"""With fewer output tokens left, no request is made."""
MOST_CALLS_AT_ONCE = 20
MessagePart = UserPromptPart | ToolReturnPart


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmLimits:
    """The limits of one analysis, or of one turn of an agent."""

    steps: int = 8
    """Responses of the model; the last must end it."""
    input_tokens: int = 40_000
    output_tokens: int = 4_000
    timeout_s: float = 60.0
    attempts: int = 4
    """How often one request is made if the provider fails."""
    most_tool_calls: int = 10
    """Calls of tools that may change something."""


class ToolSchema(NamedTuple):
    """A tool as a model sees it."""

    name: str
    description: str
    schema: dict[str, Any]


class ModelExchange:
    """The messages of an exchange and its limits; `tokens` is what it used, even if it fails."""

    def __init__(self, client: ModelClient, limits: LlmLimits, instructions: str) -> None:
        self._client = client
        self._limits = limits
        self._instructions = instructions
        self._until = asyncio.get_running_loop().time() + limits.timeout_s
        self._messages: list[ModelMessage] = []
        self._next_input = len(instructions) // CHARACTERS_PER_TOKEN
        """The estimated tokens of the next request."""
        self.tokens = Tokens()

    def add_history(self, messages: Sequence[ModelMessage], length: int) -> None:
        """Start with messages of an earlier exchange, of `length` characters."""
        self._messages += messages
        self._next_input += length // CHARACTERS_PER_TOKEN

    def add(self, parts: Sequence[MessagePart], *, extra: int = 0) -> None:
        """Add parts to the next request; `extra` counts characters sent besides them."""
        self._messages.append(ModelRequest(parts=list(parts), instructions=self._instructions))
        characters = sum(len(str(part.content)) for part in parts)
        self._next_input += (characters + extra) // CHARACTERS_PER_TOKEN

    def can_afford(self, requests: int) -> bool:
        """Whether the tokens allow so many more requests."""
        limits, spent = self._limits, self.tokens
        return (
            spent.input + requests * self._next_input <= limits.input_tokens
            and spent.output + requests * LEAST_ANSWER <= limits.output_tokens
        )

    @property
    def is_over_budget(self) -> bool:
        """Whether the last response exceeded the tokens."""
        limits, spent = self._limits, self.tokens
        return spent.input > limits.input_tokens or spent.output > limits.output_tokens

    async def ask(self, parameters: ModelRequestParameters, what: str) -> ModelResponse:
        """The model's response; ModelFailed if there is none, or no tokens are left for the request."""
        if not self.can_afford(1):
            spent = self.tokens
            raise ModelFailed(f"The {what} has used up its tokens ({spent.input} in, {spent.output} out).")
        response = await self._client.ask(
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
    """The arguments of a tool call; InvalidRequest if they are no object, or too many calls came at once."""
    if number >= MOST_CALLS_AT_ONCE:
        raise InvalidRequest("Too many calls at once.")
    try:
        return call.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        raise InvalidRequest("The arguments are not a JSON object.") from None


def definition(shape: ToolSchema, kind: Literal["function", "output"] = "function") -> ToolDefinition:
    """A tool in the library's form."""
    return ToolDefinition(
        name=shape.name, description=shape.description, parameters_json_schema=shape.schema, kind=kind
    )


def length_of(tool_schemas: Sequence[ToolSchema]) -> int:
    """How many characters tools take in a request."""
    return sum(len(quoted_json(list(shape))) for shape in tool_schemas)
