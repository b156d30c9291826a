"""Events in, alerts out: each raised once, and sent until it arrives."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from cadenza.domain.monitoring.alert import Alert, AlertKind, of_failures, of_quota, of_recovery, of_slo
from cadenza.domain.validation import milliseconds
from cadenza.engine.async_helpers import first_of, survived
from cadenza.ports.clock import Clock
from cadenza.ports.monitoring import AlertSender, AlertStore, OwedAlert
from cadenza.ports.telemetry import (
    ALERT,
    ENDPOINT_FAILED,
    ENDPOINT_RECOVERED,
    QUOTA_SPENT,
    SLO_CHANGED,
    Logger,
    Measurements,
    Metadata,
    Telemetry,
)

HEARD = frozenset({SLO_CHANGED, ENDPOINT_FAILED, ENDPOINT_RECOVERED, QUOTA_SPENT})
MOST_WAITING = 1_000
REMEMBERED = 10_000
AT_ONCE = 10
POLL_MS = 5_000
TAKEN_FOR = timedelta(minutes=2)
FIRST_AGAIN_MS, LONGEST_AGAIN_MS = 5_000, 3_600_000
MOST_ATTEMPTS = 12
"""The last of them is some hours after the first."""

Make = Callable[[Mapping[str, Any], datetime], Alert | None]


class Alarm:
    """Turns events into alerts, writes each down once, and has them sent.

    What is written down survives a restart, and is sent by any process that has a
    sender; one without only writes down, for whoever looks. What nobody can write
    down waits in a bounded queue. An alert about an endpoint was written down by who
    settled its run (see `EndpointAlerts`): of that, events only bring the news.
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
        self._telemetry = telemetry
        self._make: dict[str, Make] = {
            SLO_CHANGED: of_slo,
            ENDPOINT_FAILED: partial(of_failures, most=failures),
            ENDPOINT_RECOVERED: partial(of_recovery, most=failures),
            QUOTA_SPENT: of_quota,
        }
        self._waiting: deque[Alert] = deque()
        self._known: OrderedDict[str, None] = OrderedDict()
        self._news = asyncio.Event()
        self._lost = 0

    def emit(self, event: str, measurements: Measurements, metadata: Metadata) -> None:
        """Raise what an event is worth raising; what is over the bound is counted, and told later."""
        make = self._make.get(event)
        alert = make({**measurements, **metadata}, self._clock.now()) if make is not None else None
        if alert is None or alert.key in self._known:
            return
        if alert.kind is AlertKind.ENDPOINT:  # It was written down with its run, and may have to be sent.
            self._news.set()
            return
        if len(self._waiting) >= MOST_WAITING:
            self._lost += 1
            return
        self._remember(alert.key)
        self._waiting.append(alert)
        self._news.set()

    async def run(self) -> None:
        """Write down and send until cancelled."""
        while True:
            self._news.clear()
            if await survived(self._write_down(), self._log) and self._sender is not None:
                await survived(self._send_owed(self._sender), self._log)
            await first_of(self._clock.sleep(POLL_MS), self._news.wait())

    async def _write_down(self) -> None:
        if self._lost:
            self._log.warning("alerts were lost: too many came at once", alerts=self._lost)
            self._lost = 0
        while self._waiting:
            alert = self._waiting[0]
            await self._store.raise_alert(alert, owed=self._sender is not None)
            self._waiting.popleft()

    async def _send_owed(self, sender: AlertSender) -> None:
        while True:
            now = self._clock.now()
            owed = await self._store.take_alerts(now=now, until=now + TAKEN_FOR, limit=AT_ONCE)
            await asyncio.gather(*(self._send(one, sender) for one in owed))
            if len(owed) < AT_ONCE:
                return

    async def _send(self, owed: OwedAlert, sender: AlertSender) -> None:
        alert, attempt = owed
        problem = await sender.send(alert, attempt)
        again_ms = None if problem is None else pause_ms(attempt)
        again_at = None if again_ms is None else self._clock.now() + milliseconds(again_ms)
        await self._store.settle_alert(alert.key, again_at)
        result = "sent" if problem is None else "given_up" if again_ms is None else "failed"
        self._telemetry.emit(ALERT, {"attempt": attempt}, {"kind": alert.kind.value, "result": result})
        if problem is not None and (attempt == 1 or again_ms is None):
            event = "an alert could not be sent" if again_ms is not None else "an alert is given up"
            self._log.warning(event, key=alert.key, text=alert.text, problem=problem, attempt=attempt)

    def _remember(self, key: str) -> None:
        self._known[key] = None
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)


def pause_ms(attempt: int) -> int | None:
    """How long to wait after an attempt that failed; None when it was the last."""
    if attempt >= MOST_ATTEMPTS:
        return None
    return min(FIRST_AGAIN_MS * int(3 ** (attempt - 1)), LONGEST_AGAIN_MS)
