"""Operations that show service levels (SLOs) and alerts."""

from datetime import datetime, timedelta
from typing import Self

from cadenza.domain.access.key import Scope
from cadenza.domain.monitoring.alert import Alert, AlertKind, AlertState
from cadenza.domain.monitoring.slo import Judgement, Slo
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Limit
from cadenza.operations.operation import Command, View, operation
from cadenza.ports.monitoring import SloStatus

FRESH = timedelta(hours=1)
"""Statuses that were evaluated longer ago are those of processes that have ended, and left out."""


class GetSlo(Command):
    """No arguments: the SLOs of all processes are returned."""


class SloView(View):
    """The status of one SLO of one scheduler, as one process measured it."""

    process: str
    scheduler: str
    slo: Slo
    breached: bool
    since: datetime | None
    """Since when it is breached."""
    judgement: Judgement
    """How the last evaluation went; `fair` is within the threshold, but not well within."""
    value: float | None
    """What was measured over the window; null if nothing happened."""
    threshold: float
    samples: int
    due_bucket: int | None
    """With missed cutoffs: the minute of the day at which most of them were due."""
    rising: bool
    """With queue pressure: whether the queue grew from minute to minute."""
    window_minutes: int
    evaluated_at: datetime

    @classmethod
    def of(cls, status: SloStatus) -> Self:
        """The view of an SLO status."""
        measured, since = status.state.measured, status.state.breached_since
        assert measured is not None, "a stored status has a measurement"
        return cls(
            process=status.process,
            scheduler=status.scheduler,
            breached=since is not None,
            since=since,
            window_minutes=status.window_minutes,
            evaluated_at=status.evaluated_at,
            **measured._asdict(),
        )


class SlosView(View):
    """The SLOs of all processes."""

    breached: int
    """How many are breached."""
    items: list[SloView]


@operation("GET /v1/slo", Scope.READ)
async def get_slo(context: RequestContext, command: GetSlo) -> SlosView:  # noqa: ARG001 - every handler takes a command
    """Show the status of the SLOs: measured value, threshold, and since when one is breached."""
    statuses = await context.store.slos.slos(context.dependencies.system_now() - FRESH)
    items = [SloView.of(status) for status in statuses]
    return SlosView(breached=sum(item.breached for item in items), items=items)


SLO = (get_slo,)


class ListAlerts(Command):
    """How many."""

    limit: Limit = 20


class AlertView(View):
    """An alert."""

    key: str
    kind: AlertKind
    state: AlertState
    text: str
    raised_at: datetime

    @classmethod
    def of(cls, alert: Alert) -> Self:
        """The view of an alert."""
        return cls(
            key=alert.key, kind=alert.kind, state=alert.state, text=alert.text, raised_at=alert.raised_at
        )


class AlertsView(View):
    """The newest alerts."""

    items: list[AlertView]
    """Newest first."""


@operation("GET /v1/alerts", Scope.READ, agent=False)
async def list_alerts(context: RequestContext, command: ListAlerts) -> AlertsView:
    """List the newest alerts: those about SLOs, and those of the caller's tenant."""
    newest = await context.store.alerts.newest_alerts(context.tenant_id, command.limit)
    return AlertsView(items=[AlertView.of(one) for one in newest])


ALERTS = (list_alerts,)
