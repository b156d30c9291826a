"""SLOs, alerts and health."""

from collections.abc import Sequence
from datetime import datetime

from cadenza.adapters.stores.memory.tables import MemoryTables, StoredAlert
from cadenza.domain.monitoring.alert import Alert, RaisedAlert, concerns_tenant
from cadenza.ports.monitoring import AlertToSend, SloStatus


class MemorySlos:
    """The state of each SLO, as each process last evaluated it."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def put_slos(self, statuses: Sequence[SloStatus]) -> None:
        with self._lock:
            self._tables.slos |= {_place(status): status for status in statuses}

    async def slos(self, since: datetime) -> list[SloStatus]:
        with self._lock:
            return [one for _, one in sorted(self._tables.slos.items()) if one.evaluated_at >= since]

    async def forget_slos(self, before: datetime) -> None:
        with self._lock:
            self._tables.slos = {
                place: one for place, one in self._tables.slos.items() if one.evaluated_at >= before
            }


class MemoryHealth:
    """Memory takes every change."""

    async def check(self) -> None:
        pass


class MemoryAlerts:
    """Alerts, and when to send them."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def raise_alert(self, alert: Alert, *, owed: bool = True) -> bool:
        with self._lock:
            return write_alert(self._tables, RaisedAlert(alert, owed))

    async def take_alerts(self, *, now: datetime, until: datetime, limit: int) -> list[AlertToSend]:
        with self._lock:
            due = [
                one for one in self._tables.alerts.values() if one.due_at is not None and one.due_at <= now
            ]
            taken = sorted(due, key=lambda one: (one.alert.raised_at, one.alert.key))[:limit]
            for one in taken:
                one.due_at, one.attempts = until, one.attempts + 1
            return [AlertToSend(one.alert, one.attempts) for one in taken]

    async def settle_alert(self, key: str, again_at: datetime | None) -> None:
        with self._lock:
            if key in self._tables.alerts:
                self._tables.alerts[key].due_at = again_at

    async def newest_alerts(self, tenant_id: str, limit: int) -> list[Alert]:
        with self._lock:
            alerts = [
                one.alert for one in self._tables.alerts.values() if concerns_tenant(tenant_id, one.alert)
            ]
        return sorted(alerts, key=lambda one: (one.raised_at, one.key), reverse=True)[:limit]

    async def forget_alerts(self, before: datetime) -> None:
        with self._lock:
            self._tables.alerts = {
                key: one for key, one in self._tables.alerts.items() if one.alert.raised_at >= before
            }


def write_alert(tables: MemoryTables, raised: RaisedAlert) -> bool:
    """Write an alert unless there is one of its key; with the lock held."""
    alert, owed = raised
    if alert.key in tables.alerts:
        return False
    tables.alerts[alert.key] = StoredAlert(alert, alert.raised_at if owed else None)
    return True


def _place(status: SloStatus) -> tuple[str, str, str]:
    measured = status.state.measured
    assert measured is not None, "what stands somewhere was measured"
    return status.process, status.scheduler, measured.slo
