"""Standings and alerts in dictionaries."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import RLock

from cadenza.domain.monitoring.alert import Alert, RaisedAlert, about_endpoint, concerns_tenant
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.ports.monitoring import AlertToSend, SloStatus


@dataclass(slots=True)
class _Kept:
    alert: Alert
    due_at: datetime | None
    attempts: int = 0


class MemoryWatch:
    """Where promises stand, and alerts."""

    _lock: RLock

    def __init__(self) -> None:
        super().__init__()
        self._slos: dict[tuple[str, str, str], SloStatus] = {}
        self._alerts: dict[str, _Kept] = {}

    async def put_slos(self, statuses: Sequence[SloStatus]) -> None:
        with self._lock:
            self._slos |= {_place(status): status for status in statuses}

    async def slos(self, since: datetime) -> list[SloStatus]:
        with self._lock:
            return [one for _, one in sorted(self._slos.items()) if one.evaluated_at >= since]

    async def forget_slos(self, before: datetime) -> None:
        with self._lock:
            self._slos = {place: one for place, one in self._slos.items() if one.evaluated_at >= before}

    async def raise_alert(self, alert: Alert, *, owed: bool = True) -> bool:
        with self._lock:
            return self._raise(RaisedAlert(alert, owed))

    def _raise(self, raised: RaisedAlert) -> bool:
        alert, owed = raised
        if alert.key in self._alerts:
            return False
        self._alerts[alert.key] = _Kept(alert, alert.raised_at if owed else None)
        return True

    async def take_alerts(self, *, now: datetime, until: datetime, limit: int) -> list[AlertToSend]:
        with self._lock:
            due = [one for one in self._alerts.values() if one.due_at is not None and one.due_at <= now]
            taken = sorted(due, key=lambda one: (one.alert.raised_at, one.alert.key))[:limit]
            for one in taken:
                one.due_at, one.attempts = until, one.attempts + 1
            return [AlertToSend(one.alert, one.attempts) for one in taken]

    async def settle_alert(self, key: str, again_at: datetime | None) -> None:
        with self._lock:
            if key in self._alerts:
                self._alerts[key].due_at = again_at

    async def newest_alerts(self, tenant_id: str, limit: int) -> list[Alert]:
        with self._lock:
            alerts = [one.alert for one in self._alerts.values() if concerns_tenant(tenant_id, one.alert)]
        return sorted(alerts, key=lambda one: (one.raised_at, one.key), reverse=True)[:limit]

    async def forget_alerts(self, before: datetime) -> None:
        with self._lock:
            self._alerts = {key: one for key, one in self._alerts.items() if one.alert.raised_at >= before}

    def _forget_alerts_of(self, key: EndpointKey) -> None:
        begin = about_endpoint(*key)
        for name, one in list(self._alerts.items()):
            if name.startswith(begin) and one.alert.facts.get("endpoint_id") == key.id:
                del self._alerts[name]


def _place(status: SloStatus) -> tuple[str, str, str]:
    measured = status.state.measured
    assert measured is not None, "what stands somewhere was measured"
    return status.process, status.scheduler, measured.slo
