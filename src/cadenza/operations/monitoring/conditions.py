"""Operations on conditions: listed, counted, acknowledged and silenced."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Annotated, Any, Self

from cadenza.domain.access.key import Scope
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.monitoring.alert import AlertKind, Severity
from cadenza.domain.monitoring.condition import (
    Condition,
    ConditionKey,
    ConditionState,
    acknowledge,
    silence,
    unsilence,
)
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Id, Listed, Moment, Paged, Text, Whole, split_page
from cadenza.operations.operation import Command, View, operation
from cadenza.ports.alerting import ConditionFilter

LONGEST_SILENCE = timedelta(days=366)
RELEASED_AFTER = timedelta(minutes=1)


class ListConditions(Paged):
    """Which conditions; what is left out does not matter."""

    state: ConditionState | None = None
    kind: AlertKind | None = None
    job_id: Id | None = None
    endpoint_id: Id | None = None

    def wanted(self) -> ConditionFilter:
        """The filter for the store."""
        return ConditionFilter(self.state, self.kind, self.job_id, self.endpoint_id)


class OneCondition(Command):
    """The condition that is meant."""

    condition_id: Id


class AcknowledgeCondition(OneCondition):
    """The condition that is meant, and what is to be known about it."""

    note: Text | None = None


class SilenceCondition(OneCondition):
    """The condition that is meant, and until when nothing is sent about it: one of both."""

    until: Moment | None = None
    minutes: Annotated[int, Whole(1, 366 * 1_440)] | None = None
    reason: Text | None = None

    def ends_at(self, now: datetime) -> datetime:
        """The end of the silence; InvalidRequest unless exactly one is given, and it is near enough."""
        if (self.until is None) is (self.minutes is None):
            raise InvalidRequest("Give either until or minutes.", "until")
        ends_at = self.until or now + timedelta(minutes=self.minutes or 0)
        if ends_at > now + LONGEST_SILENCE:
            raise InvalidRequest("A silence ends within a year.", "until")
        return ends_at


class CountConditions(Command):
    """No arguments."""


class ConditionView(View):
    """What alerts are about: an endpoint, an SLO or a quota, with its state."""

    id: str
    kind: AlertKind
    severity: Severity
    state: ConditionState
    text: str
    """What the newest alert about it says."""
    tenant_id: str
    job_id: str | None
    endpoint_id: str | None
    since: datetime
    """When it began to fire, the last time."""
    resolved_at: datetime | None
    acknowledged_at: datetime | None
    acknowledged_by: str | None
    """Who acknowledged it, such as `key:3fJ8kQ2pXw1Z` or `dashboard`."""
    note: str | None
    silenced_until: datetime | None
    silence_reason: str | None
    suppressed_by: str | None
    """The endpoint that it depends on, while that is down and nothing is sent about this one."""
    grouped: int
    """How many conditions its last message was about."""

    @classmethod
    def of(cls, condition: Condition) -> Self:
        """The view of a condition."""
        fields: dict[str, Any] = {"kind": condition.kind, "text": condition.alert.text}
        fields |= {name: getattr(condition, name) for name in cls.model_fields.keys() - fields.keys()}
        return cls(**fields)


class ConditionsPage(Listed[ConditionView]):
    """A page of conditions."""


class ConditionCounts(View):
    """How many conditions are in each state that is not resolved."""

    firing: int
    acknowledged: int
    silenced: int


@operation("GET /v1/alerts/conditions", Scope.READ)
async def list_conditions(context: RequestContext, command: ListConditions) -> ConditionsPage:
    """List what alerts are about, with its state; what began last comes first.

    A condition is about one endpoint, SLO or quota. It fires and is resolved, again and again.
    """
    found = await context.store.conditions.conditions(
        context.tenant_id, wanted=command.wanted(), page=command.page()
    )
    conditions, more = split_page(found, command.limit)
    return ConditionsPage(
        items=[ConditionView.of(one) for one in conditions], next_cursor=conditions[-1].id if more else None
    )


@operation("GET /v1/alerts/conditions/counts", Scope.READ)
async def count_conditions(context: RequestContext, command: CountConditions) -> ConditionCounts:  # noqa: ARG001 - every handler takes a command
    """Count the conditions that are firing, acknowledged or silenced."""
    counts = await context.store.conditions.count_conditions(context.tenant_id)
    return ConditionCounts(
        firing=counts.get(ConditionState.FIRING, 0),
        acknowledged=counts.get(ConditionState.ACKNOWLEDGED, 0),
        silenced=counts.get(ConditionState.SILENCED, 0),
    )


@operation("POST /v1/alerts/conditions/{condition_id}/acknowledge", Scope.STEER)
async def acknowledge_condition(context: RequestContext, command: AcknowledgeCondition) -> ConditionView:
    """Acknowledge a condition: nothing more is sent about it until it is over, unless it gets more severe."""
    now, by = context.dependencies.system_now(), context.caller.origin
    return await _amend(
        context, command, lambda before: acknowledge(before, by=by, note=command.note, now=now)
    )


@operation("POST /v1/alerts/conditions/{condition_id}/silence", Scope.STEER)
async def silence_condition(context: RequestContext, command: SilenceCondition) -> ConditionView:
    """Silence a condition until a moment: nothing but its recovery is sent, also if it fires anew.

    If it fires when the silence ends, it is sent. A model silences for 24 hours at most, and leaves what a
    higher rank silenced.
    """
    now, by = context.dependencies.system_now(), context.caller.origin
    until = command.ends_at(now)
    return await _amend(
        context, command, lambda before: silence(before, until=until, reason=command.reason, now=now, by=by)
    )


@operation("POST /v1/alerts/conditions/{condition_id}/unsilence", Scope.STEER)
async def unsilence_condition(context: RequestContext, command: OneCondition) -> ConditionView:
    """End the silence of a condition: if it fires, it is sent at once."""
    now, by = context.dependencies.system_now(), context.caller.origin
    return await _amend(context, command, lambda before: unsilence(before, now, by=by))


async def _amend(
    context: RequestContext, command: OneCondition, change: Callable[[Condition], Condition]
) -> ConditionView:
    """Change a condition of the caller's tenant, noted for the audit."""

    def noted(before: Condition) -> Condition:
        after = change(before)
        context.trail.note("condition", before.id, before=_audited(before), after=_audited(after))
        return after

    key = ConditionKey(context.tenant_id, command.condition_id)
    release_at = context.dependencies.system_now() + RELEASED_AFTER
    changed = await context.store.conditions.amend_condition(key, noted, release_at=release_at)
    return ConditionView.of(changed)


def _audited(condition: Condition) -> dict[str, object]:
    names = ("state", "acknowledged_by", "note", "silenced_until", "silence_reason")
    return {name: getattr(condition, name) for name in names}


CONDITIONS = (
    list_conditions,
    count_conditions,
    acknowledge_condition,
    silence_condition,
    unsilence_condition,
)
