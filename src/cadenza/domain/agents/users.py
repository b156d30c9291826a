"""Who talks: users, and the agents they talk to."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.validation import check_text, convert_to_utc, quoted

LONGEST_NAME = 200
LONGEST_INSTRUCTIONS = 50_000
OFFLINE = "offline"
"""The name of no model: the offline agent, also where a model is set for all others."""


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
    """Somebody to whom agents speak."""

    id: str
    tenant_id: str = "default"
    timezone: str | None = None
    """An IANA zone; a moment without an offset is meant in it."""
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
    """Somebody who answers; without a model, the offline agent does."""

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
    """Why an agent may not have a model; None if it may. To have none costs nobody anything."""
    if model is None or model == OFFLINE or model in allowed:
        return None
    these = ", ".join(sorted(allowed)) or "there are none"
    refused = f"{quoted(model)} is not among the models that agents may have here ({these})"
    return f"{refused}: CADENZA_LLM_MODELS names them."


def one_line(field: str, value: object) -> str:
    """A short text on one line, with something to see on it."""
    text = check_text(field, value, longest=LONGEST_NAME)
    if not text.strip() or not text.isprintable():
        raise InvalidRequest(f"{field} must be one line of visible characters.", field)
    return text
