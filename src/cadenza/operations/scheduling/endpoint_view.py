"""An endpoint as it is shown: what its owner wrote, and where it stands."""

from datetime import datetime
from typing import Self

from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.hint import HintMode
from cadenza.domain.scheduling.plan import Source
from cadenza.operations.operation import View
from cadenza.operations.paging import Listed
from cadenza.operations.scheduling.schemas import (
    BaselineShape,
    GuardShape,
    PlanningShape,
    PolicyShape,
    TargetShape,
    shown,
)
from cadenza.operations.trust import trusted


class IntervalHintView(View):
    """Advice to run every so often."""

    interval_ms: int
    expires_at: datetime
    reason: str | None


class OneShotHintView(View):
    """Advice to run once at a moment."""

    at: datetime
    expires_at: datetime
    reason: str | None


class EndpointView(View):
    """An endpoint. Secrets appear as the references that were written, never as values."""

    id: str
    job_id: str
    name: str
    description: str | None
    labels: dict[str, str]
    target: TargetShape
    baseline: BaselineShape
    guard: GuardShape
    policy: PolicyShape
    planning: PlanningShape
    hint_mode: HintMode
    enabled: bool
    job_active: bool
    interval_hint: IntervalHintView | None
    one_shot_hint: OneShotHintView | None
    paused_until: datetime | None
    pause_reason: str | None
    next_run_at: datetime | None
    next_source: Source
    """Which rule set `next_run_at`."""
    last_run_at: datetime | None
    running: bool
    failure_count: int
    """Failures in a row."""
    quota_opens_at: datetime | None
    created_at: datetime | None

    @classmethod
    def of(cls, endpoint: Endpoint) -> Self:
        """The view of an endpoint."""
        interval, one_shot = endpoint.interval_hint, endpoint.one_shot_hint
        words = {
            "id": endpoint.id,
            "job_id": endpoint.job_id,
            "name": endpoint.name,
            "description": endpoint.description,
            "labels": dict(endpoint.labels),
            "target": shown(endpoint.target),
            "baseline": shown(endpoint.baseline),
            "guard": shown(endpoint.guard),
            "policy": shown(endpoint.policy),
            "planning": shown(endpoint.planning),
            "hint_mode": endpoint.hint_mode,
            "enabled": endpoint.enabled,
            "job_active": endpoint.job_active,
            "interval_hint": interval
            and IntervalHintView(
                interval_ms=interval.interval_ms, expires_at=interval.expires_at, reason=interval.reason
            ),
            "one_shot_hint": one_shot
            and OneShotHintView(at=one_shot.at, expires_at=one_shot.expires_at, reason=one_shot.reason),
            "paused_until": endpoint.paused_until,
            "pause_reason": endpoint.pause_reason,
            "next_run_at": endpoint.next_run_at,
            "next_source": endpoint.next_source,
            "last_run_at": endpoint.last_run_at,
            "running": endpoint.lease is not None,
            "failure_count": endpoint.failure_count,
            "quota_opens_at": endpoint.quota_opens_at,
            "created_at": endpoint.created_at,
        }
        return trusted(cls, words)


class EndpointsPage(Listed[EndpointView]):
    """A page of endpoints."""
