"""SLOs, alerts and health."""

from collections.abc import Sequence
from datetime import datetime

from cadenza.adapters.stores.memory.tables import MemoryTables, StoredAlert
from cadenza.domain.monitoring.alert import Alert, concerns_tenant
from cadenza.ports.monitoring import SloStatus


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
    """Alerts by their keys."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def raise_alert(self, alert: Alert) -> bool:
        with self._lock:
            return write_alert(self._tables, alert)

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


def write_alert(tables: MemoryTables, alert: Alert) -> bool:
    """Write an alert unless there is one of its key; with the lock held."""
    if alert.key in tables.alerts:
        return False
    tables.alerts[alert.key] = StoredAlert(alert)
    return True


def _place(status: SloStatus) -> tuple[str, str, str]:
    measured = status.state.measured
    assert measured is not None, "what stands somewhere was measured"
    return status.process, status.scheduler, measured.slo
