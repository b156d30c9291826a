"""JSON models of the probes of schedules, and their conversion to the domain and back."""

from collections.abc import Callable
from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue

from cadenza.domain.errors import NotAllowed
from cadenza.domain.http_request import LONGEST_URL, MOST_HEADERS
from cadenza.domain.scheduling.target import (
    LONGEST_CONDITION,
    MOST_COMPARED,
    CallableTarget,
    McpTarget,
    Probe,
    ProbeTarget,
)
from cadenza.domain.text_patterns import A_URL
from cadenza.operations.context import RequestContext
from cadenza.operations.documented_models import Shape, part
from cadenza.operations.fields import Name
from cadenza.operations.scheduling.schemas import CallableShape, HttpShape, as_shape


class McpShape(Shape):
    """A tool of an MCP server, called over streamable HTTP. Secrets may stand in headers and arguments."""

    kind: Literal["mcp"]
    url: Annotated[str, Field(strict=True, max_length=LONGEST_URL, pattern=A_URL)]
    tool: Name
    arguments: dict[str, JsonValue] = {}
    headers: Annotated[dict[str, str], Field(max_length=MOST_HEADERS)] = {}

    def to_domain(self) -> McpTarget:
        """The target."""
        return McpTarget(**self.model_dump(exclude={"kind"}))


ProbeTargetShape = Annotated[HttpShape | CallableShape | McpShape, Field(discriminator="kind")]


class ProbeShape(Shape):
    """Something cheap that is looked at first: the agent gets its prompt only if what it answers is new."""

    target: ProbeTargetShape
    condition: Annotated[str, Field(strict=True, max_length=LONGEST_CONDITION)] | None = None
    """When the agent is told: CEL over `response`, `previous` (its parts as in rules) and `status`."""
    changed: Annotated[list[Name], Field(max_length=MOST_COMPARED)] = []
    """JSON paths in the answer: the agent is told if one has changed; with neither, if anything has."""

    def to_domain(self) -> Probe:
        """The probe; its condition is not compiled here."""
        make: Callable[[], ProbeTarget] = self.target.to_domain
        return Probe(part("target", make), self.condition, tuple(self.changed))

    @classmethod
    def of(cls, probe: Probe) -> Self:
        """The model of a probe."""
        target = _target_shape(probe.target)
        return cls(target=target, condition=probe.condition, changed=list(probe.changed))


def _target_shape(target: ProbeTarget) -> ProbeTargetShape:
    if not isinstance(target, McpTarget):
        shape: HttpShape | CallableShape = as_shape(target)
        return shape
    return McpShape(
        kind="mcp",
        url=target.url,
        tool=target.tool,
        arguments=dict(target.arguments),
        headers=dict(target.headers),
    )


def accepted_probe(context: RequestContext, shape: ProbeShape) -> Probe:
    """The probe of a new schedule; its condition compiles, and whoever asks may use what it uses.

    A caller that acts for one user, such as their agent, has no access to the tenant's secrets, nor to
    its functions.
    """
    probe = part("probe", shape.to_domain)
    if probe.condition is not None:
        part("probe", lambda: context.dependencies.probe_conditions.check(shape.condition or ""))
    if context.caller.on_behalf_of is None:
        return probe
    if probe.references():
        raise NotAllowed("A probe that a user or their agent makes cannot use secrets: leave them out.")
    if isinstance(probe.target, CallableTarget):
        raise NotAllowed("A probe that a user or their agent makes cannot call functions: give a URL.")
    return probe
