"""What must hold for a rule to be written: a condition that can be told, and endpoints that are there."""

from collections.abc import Collection, Iterator

from cadenza.domain.errors import Fault, InvalidRequest
from cadenza.domain.planning.rules.rule import Rule, Step
from cadenza.operations.context import Desk
from cadenza.ports.catalog import EndpointFilter, Page

MOST_SIBLINGS = 10_000
"""Of a larger job not every endpoint is looked for."""


async def admitted(desk: Desk, rule: Rule) -> Rule:
    """A rule whose condition can be read, about endpoints of its job."""
    desk.supplies.expressions.check(rule.when)
    found = await desk.store.find(
        desk.tenant_id, wanted=EndpointFilter(rule.job_id), page=Page(MOST_SIBLINGS)
    )
    if len(found) < MOST_SIBLINGS:
        faults = strangers(rule, ids={one.id for one in found}, names={one.name for one in found})
        if faults:
            raise InvalidRequest(faults[0].message, faults[0].field, faults)
    return rule


def strangers(rule: Rule, *, ids: Collection[str], names: Collection[str]) -> list[Fault]:
    """Whom the rule speaks of that is not in its job."""
    faults = []
    if rule.endpoint_id is not None and rule.endpoint_id not in ids:
        message = f"There is no endpoint {rule.endpoint_id} in the job {rule.job_id}."
        faults.append(Fault("endpoint_id", message))
    for path, step in _steps(rule):
        if step.endpoint is not None and step.endpoint not in names:
            message = f"There is no endpoint of the name {step.endpoint} in the job {rule.job_id}."
            faults.append(Fault(f"{path}.endpoint", message))
    return faults


def _steps(rule: Rule) -> Iterator[tuple[str, Step]]:
    yield "then", rule.then
    if rule.relax is not None:
        yield "relax", rule.relax
    for place, one in enumerate(rule.escalate):
        yield f"escalate.{place}.then", one.then
