"""Users, and the agents they have conversations with."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.validation import check_text, convert_to_utc, quoted

LONGEST_NAME = 200
LONGEST_INSTRUCTIONS = 50_000
OFFLINE = "offline"
"""The model name of the offline agent; it needs no model even where a default model is set."""


class UserKey(NamedTuple):
    """The identity of a user; the tenant is part of it."""

    tenant_id: str
    id: str


class AgentKey(NamedTuple):
    """The identity of an agent; the tenant is part of it."""

    tenant_id: str
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A user of agents."""

    id: str
    tenant_id: str = "default"
    timezone: str | None = None
    """An IANA time zone; a moment without an offset is read in it."""
    created_at: datetime | None = None

    def __post_init__(self) -> None:
        if self.timezone is not None:
            check_text("timezone", self.timezone, longest=LONGEST_NAME)
        convert_to_utc(self, "created_at")

    @property
    def key(self) -> UserKey:
        """Its identity."""
        return UserKey(self.tenant_id, self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent; one without a model uses the default model, or else the offline agent."""

    id: str
    name: str
    tenant_id: str = "default"
    instructions: str = ""
    model: str | None = None
    created_at: datetime | None = None

    def __post_init__(self) -> None:
        one_line("name", self.name)
        check_text("instructions", self.instructions, longest=LONGEST_INSTRUCTIONS)
        if self.model is not None:
            one_line("model", self.model)
        convert_to_utc(self, "created_at")

    @property
    def key(self) -> AgentKey:
        """Its identity."""
        return AgentKey(self.tenant_id, self.id)


def refused_model(model: str | None, allowed: Collection[str]) -> str | None:
    """Why an agent may not use a model; None if it may, or uses none."""
    if model is None or model == OFFLINE or model in allowed:
        return None
    these = ", ".join(sorted(allowed)) or "there are none"
    refused = f"{quoted(model)} is not among the models that agents may have here ({these})"
    return f"{refused}: CADENZA_LLM_MODELS names them."


def one_line(field: str, value: object) -> str:
    """A checked short text: one line of visible characters."""
    text = check_text(field, value, longest=LONGEST_NAME)
    if not text.strip() or not text.isprintable():
        raise InvalidRequest(f"{field} must be one line of visible characters.", field)
    return text
