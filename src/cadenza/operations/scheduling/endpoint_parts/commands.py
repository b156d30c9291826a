"""The commands that create, select and change endpoints."""

from typing import Annotated

from pydantic import Field

from cadenza.domain.monitoring.alert import Severity
from cadenza.domain.scheduling.hint import HintMode
from cadenza.domain.text_patterns import A_LABEL
from cadenza.operations.fields import Flag, Id, Labels, Name, Paged, Priority, Text
from cadenza.operations.operation import Command
from cadenza.operations.scheduling.endpoint_parts.calendar_rules import CalendarRulesShape
from cadenza.operations.scheduling.schemas import (
    DEFAULT_PLANNING,
    DEFAULT_POLICY,
    NO_GUARD,
    BaselineShape,
    GuardShape,
    PlanningShape,
    PolicyShape,
    TargetShape,
)
from cadenza.ports.catalog import EndpointFilter

Selector = Annotated[
    list[Annotated[str, Field(strict=True, pattern=A_LABEL, max_length=130)]], Field(max_length=8)
]


class CreateEndpoint(Command):
    """A new endpoint of a job."""

    job_id: Id
    name: Name
    target: TargetShape
    baseline: BaselineShape
    id: Id | None = None
    """Chosen by you, or given."""
    guard: GuardShape = NO_GUARD
    hint_mode: HintMode = HintMode.OVERRIDE
    """Whether an interval hint takes the baseline's place, or can only tighten it."""
    description: Text | None = None
    policy: PolicyShape = DEFAULT_POLICY
    planning: PlanningShape = DEFAULT_PLANNING
    labels: Labels = {}
    severity: Severity = Severity.WARNING
    """How much an alert about it matters."""
    parent_id: Id | None = None
    """The endpoint that it depends on: while that is down, no alert about this one is sent."""
    enabled: Flag = True
    limit_key: Id | None = None
    """Endpoints with the same key share its limit, which an administrator sets."""
    priority: Priority = 0
    """Among endpoints of the tenant that are due and wait for a place or a limit, the higher goes first."""
    calendar: CalendarRulesShape | None = None
    """When it may run; null for always."""
    start_now: Flag = False
    """Due at once, instead of one interval from now."""


class OneEndpoint(Command):
    """The endpoint that is meant."""

    endpoint_id: Id


class UpdateEndpoint(OneEndpoint):
    """What is to be different; what is left out stays as it is."""

    name: Name | None = None
    job_id: Id | None = None
    target: TargetShape | None = None
    baseline: BaselineShape | None = None
    guard: GuardShape | None = None
    hint_mode: HintMode | None = None
    description: Text | None = None
    policy: PolicyShape | None = None
    planning: PlanningShape | None = None
    labels: Labels | None = None
    severity: Severity | None = None
    parent_id: Id | None = None
    """The endpoint that it depends on; null for none."""
    enabled: Flag | None = None
    limit_key: Id | None = None
    priority: Priority | None = None
    calendar: CalendarRulesShape | None = None
    """When it may run; what is left out of it stays, and null is for always."""


class Selected(Command):
    """Endpoints of a job, or with labels, or both."""

    job_id: Id | None = None
    label: Selector = []
    """`name=value`; all of them must be there."""

    def wanted(self) -> EndpointFilter:
        """The filter for the store."""
        return EndpointFilter(self.job_id, dict(label.split("=", 1) for label in self.label))


class ListEndpoints(Paged, Selected):
    """A part of the endpoints."""
