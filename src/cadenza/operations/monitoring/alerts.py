"""Alerts that were raised: what people were told, also for whoever looks later."""

from datetime import datetime
from typing import Self

from cadenza.domain.access.key import Scope
from cadenza.domain.monitoring.alert import Alert, AlertKind, AlertState
from cadenza.operations.context import Desk
from cadenza.operations.fields import Limit
from cadenza.operations.operation import Command, View, operation


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
async def list_alerts(desk: Desk, command: ListAlerts) -> AlertsView:
    """List the newest alerts: those about service levels, and those about what is the caller's."""
    newest = await desk.store.newest_alerts(desk.tenant_id, command.limit)
    return AlertsView(items=[AlertView.of(one) for one in newest])


ALERTS = (list_alerts,)
