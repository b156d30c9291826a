"""One sitting of a planner, as it is recorded: what it thought, what it did, what it cost."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from cadenza.domain.scheduling.target import Json
from cadenza.domain.validation import in_utc


class Trigger(StrEnum):
    """Why an endpoint deserves thought."""

    RUN = "run"
    FAILURE = "failure"
    SIBLING = "sibling"
    DUE = "due"


class Tokens(NamedTuple):
    """What a model read and wrote."""

    input: int = 0
    output: int = 0

    @property
    def total(self) -> int:
        """What a quota counts."""
        return self.input + self.output


class ToolCall(NamedTuple):
    """A tool that a planner used, and what came of it."""

    tool: str
    endpoint_id: str
    arguments: dict[str, Json]
    result: str | None = None
    """What it led to, in words."""
    error: str | None = None
    """Why it was refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """One sitting."""

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
    """It was only thought, not done."""
    error: str | None = None

    def __post_init__(self) -> None:
        in_utc(self, "began_at", "look_again_at")
