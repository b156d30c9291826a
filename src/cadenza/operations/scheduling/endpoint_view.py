"""Views of endpoints: their definition, their state, and the explanation of their plan."""

from dataclasses import asdict
from datetime import datetime
from typing import Self

from cadenza.domain.monitoring.alert import Severity
from cadenza.domain.scheduling.abandon import Trial, is_suspect, trial_of
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.explain import Explanation
from cadenza.domain.scheduling.hint import HintMode, IntervalHint, OneShotHint, origin_text
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.operations.documented_models import as_json, remembered_by_identity, unvalidated
from cadenza.operations.fields import Listed
from cadenza.operations.operation import View
from cadenza.operations.scheduling.endpoint_parts.calendar_rules import (
    CalendarRulesShape,
    calendar_rules_shape,
)
from cadenza.operations.scheduling.schemas import (
    AnyTargetShape,
    BaselineShape,
    GuardShape,
    PlanningShape,
    PolicyShape,
    as_shape,
)


class AdviceView(View):
    """What hints of both kinds have."""

    expires_at: datetime
    reason: str | None
    origin: str | None
    """Who gave it, such as `rule:surge` or `key:ab12`."""
    by: str
    """Its origin in words, such as "rule: surge" or "person: dashboard"."""

    @classmethod
    def of(cls, hint: IntervalHint | OneShotHint) -> Self:
        """The view of a hint."""
        return cls.model_validate(asdict(hint) | {"by": origin_text(hint.origin)})


class IntervalHintView(AdviceView):
    """Advice to run every so often."""

    interval_ms: int


class OneShotHintView(AdviceView):
    """Advice to run once at a moment."""

    at: datetime


class EndpointView(View):
    """An endpoint. Secrets appear as the references that were written, never as values."""

    id: str
    job_id: str
    name: str
    description: str | None
    labels: dict[str, str]
    target: AnyTargetShape
    baseline: BaselineShape
    guard: GuardShape
    policy: PolicyShape
    planning: PlanningShape
    hint_mode: HintMode
    severity: Severity
    """How much an alert about it matters."""
    parent_id: str | None
    """The endpoint that it depends on: while that is down, no alert about this one is sent."""
    enabled: bool
    job_active: bool
    interval_hint: IntervalHintView | None
    one_shot_hint: OneShotHintView | None
    paused_until: datetime | None
    pause_reason: str | None
    pause_origin: str | None
    """Who paused it."""
    next_run_at: datetime | None
    next_source: Source
    """Which rule set `next_run_at`."""
    last_run_at: datetime | None
    running: bool
    failure_count: int
    """Consecutive failures."""
    suspect: Trial | None
    """How it is started again, because its process died while it ran and it has not ended since: beside few
    other suspects, beside none, or with nothing else; null if it is not suspected."""
    abandoned_count: int
    """How many consecutive times its worker process died during a run."""
    abandoned_alone_count: int
    """How often it ran alone then."""
    quota_opens_at: datetime | None
    limit_key: str | None
    priority: int
    limited_by: list[str]
    """The limits that it is under, such as `host:api.example.com`."""
    calendar: CalendarRulesShape | None
    """When it may run; null for always, as far as its job says nothing else."""
    created_at: datetime | None
    note: str | None
    """What of the call that this answers was not applied, and why."""

    @classmethod
    def of(cls, endpoint: Endpoint, note: str | None = None) -> Self:
        """The view of an endpoint, as the answer to a call."""
        interval, one_shot = endpoint.interval_hint, endpoint.one_shot_hint
        fields = {
            "id": endpoint.id,
            "job_id": endpoint.job_id,
            "name": endpoint.name,
            "description": endpoint.description,
            "labels": dict(endpoint.labels),
            "target": as_shape(endpoint.target),
            "baseline": as_shape(endpoint.baseline),
            "guard": as_shape(endpoint.guard),
            "policy": as_shape(endpoint.policy),
            "planning": as_shape(endpoint.planning),
            "hint_mode": endpoint.hint_mode,
            "severity": endpoint.severity,
            "parent_id": endpoint.parent_id,
            "enabled": endpoint.enabled,
            "job_active": endpoint.job_active,
            "interval_hint": interval and IntervalHintView.of(interval),
            "one_shot_hint": one_shot and OneShotHintView.of(one_shot),
            "paused_until": endpoint.paused_until,
            "pause_reason": endpoint.pause_reason,
            "pause_origin": endpoint.pause_origin,
            "next_run_at": endpoint.next_run_at,
            "next_source": endpoint.next_source,
            "last_run_at": endpoint.last_run_at,
            "running": endpoint.lease is not None,
            "failure_count": endpoint.failure_count,
            "suspect": trial_of(endpoint) if is_suspect(endpoint) else None,
            "abandoned_count": endpoint.abandoned_count,
            "abandoned_alone_count": endpoint.abandoned_alone_count,
            "quota_opens_at": endpoint.quota_opens_at,
            "limit_key": endpoint.limit_key,
            "priority": endpoint.priority,
            "limited_by": list(endpoint.limited_by),
            "calendar": calendar_rules_shape(endpoint.calendar_rules),
            "created_at": endpoint.created_at,
            "note": note,
        }
        return unvalidated(cls, fields)

    def to_json(self) -> bytes:
        """It as JSON; remembered, since the view of an endpoint is, too."""
        return _endpoint_json(self)


MOST_REMEMBERED = 32
"""Few, since an endpoint may hold a long document; a store remembers no more on its own."""


@remembered_by_identity(most=MOST_REMEMBERED)
def endpoint_view(endpoint: Endpoint) -> EndpointView:
    """The view of an endpoint that is read alone; the same for the same endpoint."""
    return EndpointView.of(endpoint)


@remembered_by_identity(most=MOST_REMEMBERED)
def _endpoint_json(view: EndpointView) -> bytes:
    return as_json(view)


class EndpointsPage(Listed[EndpointView]):
    """A page of endpoints."""


class CandidateView(View):
    """A moment that a rule proposed."""

    at: datetime
    source: Source


class GovernorView(View):
    """What the governor would choose now."""

    next_run_at: datetime | None
    source: Source
    candidates: list[CandidateView]
    """What was weighed; the stored next run is always among them, and wins."""


class PlanView(View):
    """Why the next run is when it is."""

    endpoint_id: str
    now: datetime
    next_run_at: datetime | None
    source: Source
    """Which rule set the stored next run."""
    opens_at: datetime | None
    """When it may really run: not before a pause or a quota lets it; null if something must change first."""
    gate: str | None
    """What keeps it from running at all, in words."""
    governor: GovernorView
    answer: str
    """All of it in words."""
    applied: bool
    """Whether the call that this answers took effect; false if a higher rank had decided otherwise."""
    note: str | None
    """What is to be known about the call: why it was not applied, or that its moment had passed."""

    @classmethod
    def of(cls, changed: ChangedEndpoint, why: Explanation) -> Self:
        """The view of an explanation, as the answer to a change."""
        candidates = [CandidateView(at=one.at, source=one.source) for one in why.plan.candidates]
        return cls(
            endpoint_id=changed.endpoint.id,
            now=why.now,
            next_run_at=why.next_run_at,
            source=why.source,
            opens_at=why.opens_at,
            gate=why.gate,
            governor=GovernorView(
                next_run_at=why.plan.next_run_at, source=why.plan.source, candidates=candidates
            ),
            answer=" ".join(filter(None, (changed.note, *why.sentences))),
            applied=changed.applied,
            note=changed.note,
        )
