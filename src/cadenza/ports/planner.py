"""What writes hints: rules, a learning planner, an LLM."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from cadenza.domain.planning.analysis import Tokens, Trigger
from cadenza.domain.planning.health import Health
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Run
from cadenza.domain.scheduling.steer import Amended

CallTool = Callable[[Endpoint, str, Mapping[str, Any]], Awaitable[Amended]]
"""Calls a tool of an endpoint by its name, with its arguments as they are named on the wire."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """What a planner is told about one endpoint before it acts."""

    now: datetime
    endpoint: Endpoint
    trigger: Trigger = Trigger.RUN
    recent: Sequence[Run] = ()
    """Its newest runs first, with their responses, as many as fit into the budget."""
    health: Sequence[Health] = ()
    siblings: Mapping[str, Endpoint] = field(default_factory=dict)
    """The other endpoints of its job, by name; a planner may act on them too."""
    latest: Mapping[str, Run] = field(default_factory=dict)
    """The siblings' newest runs, by name."""


class Sitting(NamedTuple):
    """How a sitting ended."""

    reasoning: str = ""
    look_again_ms: int | None = None
    """When to think about this endpoint again, if nothing happens before."""
    tokens: Tokens = Tokens()
    shadow: bool = False
    """It was only thought, not done."""
    error: str | None = None
    """Why it came to nothing; what it spent is counted all the same."""


NOTHING_TO_SAY = Sitting()


class Planner(Protocol):
    """Thinks about one endpoint at a time and acts through tools alone."""

    @property
    def name(self) -> str:
        """What its sittings and hints are recorded as."""
        ...

    def wants(self, briefing: Briefing) -> bool:
        """Whether it has anything to think about here; cheap, and asked first."""
        ...

    async def sit(self, briefing: Briefing, call: CallTool) -> Sitting:
        """Read the briefing and call whatever tools it suggests."""
        ...
