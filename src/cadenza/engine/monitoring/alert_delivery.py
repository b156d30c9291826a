"""Turns telemetry events into alerts, raises each once, and sends it until it arrives."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from cadenza.domain.monitoring.alert import (
    Alert,
    AlertKind,
    failure_alert,
    pause_alert,
    quota_alert,
    recovery_alert,
    slo_alert,
)
from cadenza.domain.validation import milliseconds
from cadenza.engine.async_helpers import Attempts, first_of
from cadenza.ports.clock import Clock
from cadenza.ports.monitoring import AlertSender, AlertStore, AlertToSend
from cadenza.ports.telemetry import (
    ALERT,
    ENDPOINT_FAILED,
    ENDPOINT_PAUSED,
    ENDPOINT_RECOVERED,
    QUOTA_SPENT,
    SLO_CHANGED,
    Logger,
    Measurements,
    Metadata,
    Telemetry,
)

EVENTS = frozenset({SLO_CHANGED, ENDPOINT_FAILED, ENDPOINT_PAUSED, ENDPOINT_RECOVERED, QUOTA_SPENT})
MOST_QUEUED = 1_000
REMEMBERED = 10_000
AT_ONCE = 10
POLL_MS = 5_000
LEASE = timedelta(minutes=2)
FIRST_RETRY_MS, LONGEST_RETRY_MS = 5_000, 3_600_000
MOST_ATTEMPTS = 12
"""The last of them is some hours after the first."""

Make = Callable[[Mapping[str, Any], datetime], Alert | None]


class AlertDelivery:
    """Turns events into alerts, stores each once, and has them sent.

    A stored alert survives a restart, and any process with a sender sends it; one
    without only stores them. While the store is unavailable, alerts wait in a
    bounded queue. An alert about an endpoint was stored with the run that caused it
    (see `EndpointAlerts`); its event only wakes the sender.
    """

    def __init__(
        self,
        *,
        store: AlertStore,
        sender: AlertSender | None,
        clock: Clock,
        log: Logger,
        telemetry: Telemetry,
        failures: int,
    ) -> None:
        self._store = store
        self._sender = sender
        self._clock = clock
        self._log = log
        self._attempts = Attempts("alerts", clock, log)
        self._telemetry = telemetry
        self._make: dict[str, Make] = {
            SLO_CHANGED: slo_alert,
            ENDPOINT_FAILED: partial(failure_alert, most=failures),
            ENDPOINT_PAUSED: pause_alert,
            ENDPOINT_RECOVERED: partial(recovery_alert, most=failures),
            QUOTA_SPENT: quota_alert,
        }
        self._queue: deque[Alert] = deque()
        self._raised: OrderedDict[str, None] = OrderedDict()
        self._wakeup = asyncio.Event()
        self._lost = 0

    def emit(self, event: str, measurements: Measurements, metadata: Metadata) -> None:
        """Raise the alert of an event, if it has one; alerts over the bound are counted and logged later."""
        make = self._make.get(event)
        alert = make({**measurements, **metadata}, self._clock.now()) if make is not None else None
        if alert is None or alert.key in self._raised:
            return
        if alert.kind is AlertKind.ENDPOINT:  # It was stored with its run, and may have to be sent.
            self._wakeup.set()
            return
        if len(self._queue) >= MOST_QUEUED:
            self._lost += 1
            return
        self._remember(alert.key)
        self._queue.append(alert)
        self._wakeup.set()

    async def run(self) -> None:
        """Store and send alerts until cancelled."""
        while True:
            self._wakeup.clear()
            if await self._attempts.try_once(self._store_queued()) and self._sender is not None:
                await self._attempts.try_once(self._send_all(self._sender))
            await first_of(self._clock.sleep(POLL_MS), self._wakeup.wait())

    async def _store_queued(self) -> None:
        if self._lost:
            self._log.warning("alerts were lost: too many came at once", alerts=self._lost)
            self._lost = 0
        while self._queue:
            alert = self._queue[0]
            await self._store.raise_alert(alert, owed=self._sender is not None)
            self._queue.popleft()

    async def _send_all(self, sender: AlertSender) -> None:
        while True:
            now = self._clock.now()
            pending = await self._store.take_alerts(now=now, until=now + LEASE, limit=AT_ONCE)
            await asyncio.gather(*(self._send(one, sender) for one in pending))
            if len(pending) < AT_ONCE:
                return

    async def _send(self, pending: AlertToSend, sender: AlertSender) -> None:
        alert, attempt = pending
        problem = await sender.send(alert, attempt)
        retry_ms = None if problem is None else retry_delay_ms(attempt)
        retry_at = None if retry_ms is None else self._clock.now() + milliseconds(retry_ms)
        await self._store.settle_alert(alert.key, retry_at)
        result = "sent" if problem is None else "given_up" if retry_ms is None else "failed"
        self._telemetry.emit(ALERT, {"attempt": attempt}, {"kind": alert.kind.value, "result": result})
        if problem is not None and (attempt == 1 or retry_ms is None):
            event = "an alert could not be sent" if retry_ms is not None else "an alert is given up"
            self._log.warning(event, key=alert.key, text=alert.text, problem=problem, attempt=attempt)

    def _remember(self, key: str) -> None:
        self._raised[key] = None
        if len(self._raised) > REMEMBERED:
            self._raised.popitem(last=False)


def retry_delay_ms(attempt: int) -> int | None:
    """The delay before the next attempt; None after the last one."""
    if attempt >= MOST_ATTEMPTS:
        return None
    return min(FIRST_RETRY_MS * int(3 ** (attempt - 1)), LONGEST_RETRY_MS)
