"""What running an endpoint does."""

from collections.abc import Mapping
from dataclasses import dataclass, field

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True, slots=True)
class HttpTarget:
    """One HTTP exchange."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Json = None


@dataclass(frozen=True, slots=True)
class CallableTarget:
    """A Python function, registered under a name."""

    function: str = "noop"


@dataclass(frozen=True, slots=True)
class PromptTarget:
    """A message to an agent, in the conversation of a user."""

    agent_id: str
    user_id: str
    prompt: str


Target = HttpTarget | CallableTarget | PromptTarget
