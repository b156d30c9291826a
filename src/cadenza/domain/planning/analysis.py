"""One analysis of a planner, as it is recorded: its reasoning, its tool calls and its cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from cadenza.domain.json_values import Json
from cadenza.domain.validation import convert_to_utc


class Trigger(StrEnum):
    """Why an endpoint is analyzed."""

    RUN = "run"
    FAILURE = "failure"
    SIBLING = "sibling"
    DUE = "due"


class Tokens(NamedTuple):
    """Tokens that a model read and wrote."""

    input: int = 0
    output: int = 0

    @property
    def total(self) -> int:
        """The number that a quota counts."""
        return self.input + self.output


class ToolRequest(NamedTuple):
    """A tool to call, with its JSON arguments."""

    tool: str
    arguments: Mapping[str, Any]


class ToolCall(NamedTuple):
    """A tool that a planner called, and its result."""

    tool: str
    endpoint_id: str
    arguments: dict[str, Json]
    result: str | None = None
    """The next run after the call, as text."""
    error: str | None = None
    """Why the call failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """One time a planner analyzed an endpoint."""

    id: str
    tenant_id: str
    job_id: str
    endpoint_id: str
    planner: str
    """`rules`, `learned`, `llm`, `http`."""
    trigger: Trigger
    began_at: datetime
    duration_ms: int = 0
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    tokens: Tokens = Tokens()
    look_again_at: datetime | None = None
    shadow: bool = False
    """It computed an action and did not take it."""
    error: str | None = None

    def __post_init__(self) -> None:
        convert_to_utc(self, "began_at", "look_again_at")
