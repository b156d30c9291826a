"""Users, and the agents they have conversations with."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.target import MOST_CAPTURED_BYTES, HttpTarget
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


class Runtime(StrEnum):
    """Who answers as an agent."""

    MODEL = "model"
    """Cadenza itself, with a model or offline."""
    HTTP = "http"
    """A service that each turn is sent to."""
    PULL = "pull"
    """Processes that take turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent; one without a model uses the default model, or else the offline agent."""

    id: str
    name: str
    tenant_id: str = "default"
    instructions: str = ""
    model: str | None = None
    runtime: Runtime = Runtime.MODEL
    target: HttpTarget | None = None
    """Where the turns of an HTTP agent are sent, with headers and signing keys; of others None."""
    created_at: datetime | None = None

    def __post_init__(self) -> None:
        one_line("name", self.name)
        check_text("instructions", self.instructions, longest=LONGEST_INSTRUCTIONS)
        if self.model is not None:
            one_line("model", self.model)
        self._check_runtime()
        convert_to_utc(self, "created_at")

    @property
    def key(self) -> AgentKey:
        """Its identity."""
        return AgentKey(self.tenant_id, self.id)

    def _check_runtime(self) -> None:
        if self.runtime is not Runtime.MODEL and self.model is not None:
            raise InvalidRequest("An agent of your own has no model here: leave it out.", "model")
        if self.runtime is Runtime.HTTP and self.target is None:
            raise InvalidRequest("An HTTP agent needs a target with the url of its turns.", "target")
        if self.runtime is not Runtime.HTTP and self.target is not None:
            raise InvalidRequest("Only an HTTP agent has a target: leave it out.", "target")


def agent_target(url: str, headers: Mapping[str, str], signing: Sequence[str]) -> HttpTarget:
    """Where the turns of an HTTP agent are sent; it answers with 200, or later after a 202."""
    return HttpTarget(
        url,
        "POST",
        headers,
        success_statuses=("200", "202"),
        capture_bytes=MOST_CAPTURED_BYTES,
        signing=tuple(signing),
    )


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
