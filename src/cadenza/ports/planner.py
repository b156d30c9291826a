"""What writes hints: rules, a learning planner, an LLM."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from cadenza.domain.endpoint import Endpoint
from cadenza.domain.run import Run
from cadenza.domain.steer import Amended

CallTool = Callable[[Endpoint, str, Mapping[str, Any]], Awaitable[Amended]]
"""Calls a tool of an endpoint by its name, with its arguments as they are named on the wire."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """What a planner is told about one endpoint before it acts."""

    now: datetime
    endpoint: Endpoint
    recent: Sequence[Run] = ()
    siblings: Mapping[str, Endpoint] = field(default_factory=dict)
    """The other endpoints of its job, by name; a planner may act on them too."""


class Planner(Protocol):
    """Thinks about one endpoint at a time and acts through tools alone."""

    async def sit(self, briefing: Briefing, call: CallTool) -> None:
        """Read the briefing and call whatever tools it suggests."""
        ...
