"""An alarm under test, who takes its alerts, and a worker whose runs give cause for them."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.stores.memory import MemoryStore
from cadenza.domain.channel import Notice, Recipient
from cadenza.domain.monitoring.alert import Alert
from cadenza.domain.scheduling.run import Outcome, RunStatus
from cadenza.engine.monitoring.alert_delivery import AlertDelivery, AlertSettings
from cadenza.engine.worker.execute import Executor
from cadenza.engine.worker.loop import WorkerLoop
from cadenza.engine.worker.settle import EndpointAlerts
from cadenza.engine.worker.sweeper import Sweeper
from cadenza.testing import FakeClock, FakeDispatcher, FakeIds, FakeLog, FakeQuota, FakeTelemetry

FAILURES = 3
FAILURE = Outcome(RunStatus.FAILURE, error="answered 500")
SUCCESS = Outcome(RunStatus.SUCCESS)
SLO: dict[str, Any] = {
    "slo": "tick_budget",
    "scheduler": "daily",
    "process": "host/up",
    "since": "2025-01-01T00:00:00Z",
    "value": 412.0,
    "threshold": 300,
    "window_minutes": 15,
}


class Sender:
    """Takes alerts, or has a reason not to."""

    def __init__(self, problems: Sequence[str | None] = ()) -> None:
        self._problems = list(problems)
        self.sent: list[tuple[str, int]] = []
        self.alerts: list[Alert] = []

    async def send(self, alert: Alert, attempt: int) -> str | None:
        self.sent.append((alert.key, attempt))
        problem = self._problems.pop(0) if self._problems else None
        if problem is None:
            self.alerts.append(alert)
        return problem


class Channels:
    """The channels of routes and users: they accept everything, or have a reason not to."""

    def __init__(self) -> None:
        self.problem: str | None = None
        self.sent: list[tuple[str, str]] = []

    async def send(self, notice: Notice, to: Recipient, attempt: int) -> str | None:
        if self.problem is None:
            self.sent.append((to.id, notice.text))
        return self.problem


class AlertFixture:
    """A process on a clock that a test moves; it alerts after three failures in a row."""

    def __init__(
        self,
        store: MemoryStore | None = None,
        sender: Sender | None = None,
        *,
        sends: bool = True,
        gather_ms: int = 0,
    ) -> None:
        self.channels = Channels()
        self.clock, self.log, self.telemetry = FakeClock(manual=True), FakeLog(), FakeTelemetry()
        self.store, self.sender = store or MemoryStore(FakeIds()), sender or Sender()
        self.delivery = AlertDelivery(
            store=self.store,
            sender=self.sender if sends else None,
            channels=self.channels,
            clock=self.clock,
            log=self.log,
            telemetry=self.telemetry,
            settings=AlertSettings(FAILURES, gather_ms),
        )
        self.dispatcher = FakeDispatcher()
        executor = Executor(dispatcher=self.dispatcher, quota=FakeQuota(), clock=self.clock)
        cron = CronsimCron()
        self.worker = WorkerLoop(
            store=self.store.endpoints,
            executor=executor,
            sweeper=Sweeper(store=self.store.endpoints, clock=self.clock, cron=cron, log=self.log),
            clock=self.clock,
            cron=cron,
            telemetry=self.delivery,
            log=self.log,
            alerts=EndpointAlerts(clock=self.clock, failures=FAILURES),
        )

    def breaches(self, number: int = 0) -> None:
        """A promise is broken, one for each number."""
        self.delivery.emit("slo.changed", {"breached": 1}, {**SLO, "process": f"{number}", "change": "begun"})

    async def fares(self, *outcomes: Outcome) -> None:
        """What is due comes to these, one after the other."""
        coming = iter(outcomes)
        self.dispatcher.on("traffic", lambda _: next(coming))
        for _ in outcomes:
            await self.worker.run_once()
            await self.clock.advance(60_000)

    @property
    def texts(self) -> list[str]:
        return [alert.text for alert in self.sender.alerts]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.delivery.run())
        await self.clock.advance(0)
        yield
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
