"""Turns telemetry events into alerts, decides what is sent of them, and sends it until it is accepted."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from cadenza.domain.errors import NotFound
from cadenza.domain.monitoring.alert import (
    Alert,
    failure_alert,
    pause_alert,
    quota_alert,
    recovery_alert,
    slo_alert,
)
from cadenza.domain.monitoring.alert_message import DEFAULT_ROUTE, AlertMessage, plan_messages
from cadenza.domain.monitoring.condition import OF_ENDPOINTS, after_alert
from cadenza.domain.validation import milliseconds
from cadenza.engine.async_helpers import Attempts, first_of
from cadenza.engine.monitoring.condition_upkeep import ConditionUpkeep
from cadenza.ports.alerting import ChannelSender, Gathering, MessageToSend
from cadenza.ports.clock import Clock
from cadenza.ports.monitoring import AlertSender
from cadenza.ports.store import Store
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
APPLIED_AT_ONCE = 1_000
DECIDED_AT_ONCE = 10_000
"""So many endpoints of a job may fail at once, and still share a message."""
AT_ONCE = 10
POLL_MS = 5_000
LEASE = timedelta(minutes=2)
RELEASED_AFTER = timedelta(minutes=1)
"""How long after the end of a condition those that depend on it have, to end as well."""
FIRST_RETRY_MS, LONGEST_RETRY_MS = 5_000, 3_600_000
MOST_ATTEMPTS = 12
"""The last of them is some hours after the first."""

Make = Callable[[Mapping[str, Any], datetime], Alert | None]


class AlertSettings(NamedTuple):
    """After how many failures there is an alert, and how long alerts of one job are gathered."""

    failures: int = 3
    gather_ms: int = 5_000


class AlertDelivery:
    """Turns events into alerts, stores each once, and has messages about them sent.

    A stored alert survives a restart. It is applied to its condition, and messages are made for the
    routes of its tenant, or for the default route if there are none. While the store is unavailable,
    alerts wait in a bounded queue. An alert about an endpoint was stored with the run that caused it
    (see `EndpointAlerts`); its event only wakes this loop.
    """

    def __init__(
        self,
        *,
        store: Store,
        sender: AlertSender | None,
        channels: ChannelSender,
        clock: Clock,
        log: Logger,
        telemetry: Telemetry,
        settings: AlertSettings,
    ) -> None:
        self._store = store
        self._sender = sender
        self._channels = channels
        self._clock = clock
        self._log = log
        self._attempts = Attempts("alerts", clock, log)
        self._telemetry = telemetry
        self._gather = milliseconds(settings.gather_ms)
        self._upkeep = ConditionUpkeep(store, clock, released_after=RELEASED_AFTER)
        self._make: dict[str, Make] = {
            SLO_CHANGED: slo_alert,
            ENDPOINT_FAILED: partial(failure_alert, most=settings.failures),
            ENDPOINT_PAUSED: pause_alert,
            ENDPOINT_RECOVERED: partial(recovery_alert, most=settings.failures),
            QUOTA_SPENT: quota_alert,
        }
        self._queue: deque[Alert] = deque()
        self._raised: OrderedDict[str, None] = OrderedDict()
        self._wakeup = asyncio.Event()
        self._lost = 0
        self._wait_ms = POLL_MS

    def emit(self, event: str, measurements: Measurements, metadata: Metadata) -> None:
        """Raise the alert of an event, if it has one; alerts over the bound are counted and logged later."""
        make = self._make.get(event)
        alert = make({**measurements, **metadata}, self._clock.now()) if make is not None else None
        if alert is None or alert.key in self._raised:
            return
        if alert.kind in OF_ENDPOINTS:  # It was stored with its run, and is to be applied.
            self._wakeup.set()
            return
        if len(self._queue) >= MOST_QUEUED:
            self._lost += 1
            return
        self._remember(alert.key)
        self._queue.append(alert)
        self._wakeup.set()

    async def run(self) -> None:
        """Store alerts, decide about messages and send them, until cancelled."""
        while True:
            self._wakeup.clear()
            self._wait_ms = POLL_MS
            if await self._attempts.try_once(self._store_queued()):
                await self._attempts.try_once(self._decide())
                await self._attempts.try_once(self._send_all())
            await first_of(self._clock.sleep(self._wait_ms), self._wakeup.wait())

    async def _store_queued(self) -> None:
        if self._lost:
            self._log.warning("alerts were lost: too many came at once", alerts=self._lost)
            self._lost = 0
        while self._queue:
            await self._store.alerts.raise_alert(self._queue[0])
            self._queue.popleft()

    async def _decide(self) -> None:
        """Apply what was raised to its conditions, and make the messages whose moment has come."""
        await self._apply_alerts()
        await self._upkeep.close_what_is_over()
        while True:
            now = self._clock.now()
            gathering = Gathering(now, now + self._gather, DECIDED_AT_ONCE, self._sender is not None)
            rule = partial(plan_messages, now=now)
            if await self._store.conditions.plan_messages(rule, gathering) < DECIDED_AT_ONCE:
                return

    async def _apply_alerts(self) -> None:
        while True:
            now = self._clock.now()
            rule = partial(after_alert, now=now, gather=self._gather)
            applied = await self._store.conditions.apply_alerts(
                rule, limit=APPLIED_AT_ONCE, release_at=now + RELEASED_AFTER
            )
            if applied and self._gather:  # What was applied last is decided when it was gathered.
                self._wait_ms = min(POLL_MS, self._gather // milliseconds(1))
            if applied < APPLIED_AT_ONCE:
                return

    async def _send_all(self) -> None:
        while True:
            now = self._clock.now()
            pending = await self._store.alert_messages.take_messages(
                now=now, until=now + LEASE, limit=AT_ONCE, default=self._sender is not None
            )
            await asyncio.gather(*map(self._send, pending))
            if len(pending) < AT_ONCE:
                return

    async def _send(self, pending: MessageToSend) -> None:
        message, attempt = pending
        problem = await self._problem(message, attempt)
        retry_ms = None if problem is None else retry_delay_ms(attempt)
        retry_at = None if retry_ms is None else self._clock.now() + milliseconds(retry_ms)
        await self._store.alert_messages.settle_message(message.key, retry_at)
        result = "sent" if problem is None else "given_up" if retry_ms is None else "failed"
        about = {"kind": message.alert.kind.value, "result": result}
        self._telemetry.emit(ALERT, {"attempt": attempt}, about)
        if problem is not None and (attempt == 1 or retry_ms is None):
            event = "an alert could not be sent" if retry_ms is not None else "an alert is given up"
            alert, route = message.alert, message.route_id or "default"
            facts = {"key": alert.key, "text": alert.text, "route": route, "problem": problem}
            self._log.warning(event, **facts, attempt=attempt)

    async def _problem(self, message: AlertMessage, attempt: int) -> str | None:
        """Send a message once; why it was not accepted."""
        if message.route_id == DEFAULT_ROUTE:
            assert self._sender is not None, "only messages that can be sent are taken"
            return await self._sender.send(message.alert, attempt)
        try:
            route = await self._store.alert_routes.route(message.tenant_id, message.route_id)
        except NotFound:  # It was deleted meanwhile, and its messages with it.
            return None
        return await self._channels.send(message.alert, route, attempt)

    def _remember(self, key: str) -> None:
        self._raised[key] = None
        if len(self._raised) > REMEMBERED:
            self._raised.popitem(last=False)


def retry_delay_ms(attempt: int) -> int | None:
    """The delay before the next attempt; None after the last one."""
    if attempt >= MOST_ATTEMPTS:
        return None
    return min(FIRST_RETRY_MS * int(3 ** (attempt - 1)), LONGEST_RETRY_MS)
