"""JSON models of rules, and their conversion to the domain and back."""

from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from cadenza.domain.errors import Fault, InvalidRequest
from cadenza.domain.planning.rules.rule import (
    LONGEST_WHEN,
    MOST_ESCALATIONS,
    STEPS,
    ClearStep,
    Escalation,
    PauseStep,
    ProposeIntervalStep,
    ProposeNextTimeStep,
    Rule,
    Step,
    WakeStep,
)
from cadenza.domain.scheduling.hint import LONGEST_TTL_MINUTES
from cadenza.domain.text_patterns import WITHOUT_CONTROL
from cadenza.operations.context import RequestContext
from cadenza.operations.documented_models import Shape, part
from cadenza.operations.fields import Name, Span, SpanFromZero
from cadenza.ports.catalog import EndpointFilter, Page

Ttl = Annotated[float, Field(gt=0, le=LONGEST_TTL_MINUTES)]
Reason = Annotated[str, Field(strict=True, pattern=WITHOUT_CONTROL, max_length=1_000)]
When = Annotated[str, Field(strict=True, pattern=WITHOUT_CONTROL, min_length=1, max_length=LONGEST_WHEN)]
WORDS = {
    "interval_ms": "intervalMs",
    "in_ms": "nextRunInMs",
    "for_ms": "pauseMs",
    "ttl_minutes": "ttlMinutes",
}
"""Fields of steps, and the arguments' names that planners know."""


class StepShape(Shape):
    """What is to be done."""

    tool: str
    endpoint: Name | None = None
    """The name of an endpoint of the same job; if left out, the one that the rule looks at."""
    reason: Reason | None = None
    """Said beside the rule's name."""

    def to_domain(self) -> Step:
        """The step of the domain."""
        said = WORDS | {"endpoint": "endpoint", "reason": "reason"}
        own = type(self).model_fields
        return STEPS[self.tool](**{name: getattr(self, word) for name, word in said.items() if word in own})


class PaceShape(StepShape):
    """Run every so often for a while, then fall back to the baseline."""

    tool: Literal["propose_interval"]
    intervalMs: Span
    ttlMinutes: Ttl = 60


class RunSoonShape(StepShape):
    """Run once, after a while."""

    tool: Literal["propose_next_time"]
    nextRunInMs: SpanFromZero
    ttlMinutes: Ttl | None = None


class RestShape(StepShape):
    """Pause for a span; null resumes."""

    tool: Literal["pause_until"]
    pauseMs: Span | None


class WakeShape(StepShape):
    """Resume what is paused, and let it run soon; what is not paused stays as it is."""

    tool: Literal["wake"]
    nextRunInMs: SpanFromZero = 0
    ttlMinutes: Ttl | None = None


class ClearShape(StepShape):
    """Take back an interval that was proposed: the baseline resumes."""

    tool: Literal["clear"]


AnyStep = Annotated[
    PaceShape | RunSoonShape | RestShape | WakeShape | ClearShape, Field(discriminator="tool")
]
SHAPES: dict[type, type[StepShape]] = {
    ProposeIntervalStep: PaceShape,
    ProposeNextTimeStep: RunSoonShape,
    PauseStep: RestShape,
    WakeStep: WakeShape,
    ClearStep: ClearShape,
}


class EscalationShape(Shape):
    """What is to be done when an incident has lasted so long."""

    after_ms: Span
    then: AnyStep

    def to_domain(self) -> Escalation:
        """The escalation of the domain."""
        return Escalation(self.after_ms, part("then", self.then.to_domain))


Escalations = Annotated[list[EscalationShape], Field(max_length=MOST_ESCALATIONS)]


def step_shape(step: Step) -> Any:
    """The JSON model of a step."""
    kind = SHAPES[type(step)]
    words = {word: getattr(step, name) for name, word in WORDS.items() if word in kind.model_fields}
    return kind.model_construct(tool=step.tool, endpoint=step.endpoint, reason=step.reason, **words)


def rule_parts_as_shapes(rule: Rule) -> dict[str, Any]:
    """The JSON models of a rule's parts, without its id, job and tenant."""
    return {
        "name": rule.name,
        "when": rule.when,
        "then": step_shape(rule.then),
        "relax": None if rule.relax is None else step_shape(rule.relax),
        "cooldown_ms": rule.cooldown_ms,
        "once_per_incident": rule.once_per_incident,
        "escalate": [
            EscalationShape.model_construct(after_ms=one.after_ms, then=step_shape(one.then))
            for one in rule.escalate
        ],
    }


def _part_to_domain(name: str, words: Any) -> Any:
    """A field of a rule, converted to the domain."""
    if name == "escalate":
        return tuple(part(f"escalate.{place}", one.to_domain) for place, one in enumerate(words))
    return part(name, words.to_domain) if isinstance(words, StepShape) else words


def rule_parts_to_domain(words: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a rule, converted to the domain; InvalidRequest with all faults."""
    converted: dict[str, Any] = {}
    faults: list[Fault] = []
    for name, said in words.items():
        try:
            converted[name] = _part_to_domain(name, said)
        except InvalidRequest as problem:
            faults += problem.faults or [Fault(name, problem.message)]
    if faults:
        raise InvalidRequest(faults[0].message, faults[0].field, faults)
    return converted


MOST_SIBLINGS = 10_000
"""In a job with more endpoints, not all names are checked."""


async def check_rule(context: RequestContext, rule: Rule) -> Rule:
    """The rule, if its condition can be parsed and its job has the endpoints it names; or InvalidRequest."""
    context.dependencies.expressions.check(rule.when)
    found = await context.store.catalog.find(
        context.tenant_id, wanted=EndpointFilter(rule.job_id), page=Page(MOST_SIBLINGS)
    )
    if len(found) < MOST_SIBLINGS:
        faults = missing_endpoints(rule, ids={one.id for one in found}, names={one.name for one in found})
        if faults:
            raise InvalidRequest(faults[0].message, faults[0].field, faults)
    return rule


def missing_endpoints(rule: Rule, *, ids: Collection[str], names: Collection[str]) -> list[Fault]:
    """Faults for the endpoints that a rule names and its job does not have."""
    faults = []
    if rule.endpoint_id is not None and rule.endpoint_id not in ids:
        message = f"Endpoint {rule.endpoint_id} not found in the job {rule.job_id}."
        faults.append(Fault("endpoint_id", message))
    for path, step in _steps(rule):
        if step.endpoint is not None and step.endpoint not in names:
            message = f"Endpoint named {step.endpoint} not found in the job {rule.job_id}."
            faults.append(Fault(f"{path}.endpoint", message))
    return faults


def _steps(rule: Rule) -> Iterator[tuple[str, Step]]:
    yield "then", rule.then
    if rule.relax is not None:
        yield "relax", rule.relax
    for place, one in enumerate(rule.escalate):
        yield f"escalate.{place}.then", one.then
