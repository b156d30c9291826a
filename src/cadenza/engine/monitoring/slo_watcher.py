"""Evaluates the service level objectives from telemetry, and reports breaches."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from cadenza.domain.monitoring.rolling import RollingStatistics
from cadenza.domain.monitoring.slo import (
    BreachChange,
    Slo,
    SloMeasurement,
    SloSettings,
    SloState,
    judge,
    measure,
    measure_silence,
)
from cadenza.domain.validation import iso
from cadenza.engine.async_helpers import Attempts
from cadenza.ports.clock import Clock
from cadenza.ports.monitoring import SloStatus, SloStore
from cadenza.ports.telemetry import (
    DEPTH,
    FINALIZE,
    IN_FLIGHT,
    JOB,
    SLO_CHANGED,
    TICK,
    Logger,
    Measurements,
    Metadata,
    Telemetry,
)

EVENTS = frozenset({TICK, DEPTH, IN_FLIGHT, JOB, FINALIZE})
MOST_SCHEDULERS = 8
"""More names are a mistake of the emitter, and must not cost memory."""
RESUMED = timedelta(hours=1)
"""A breach that was evaluated within this time stays open over a restart."""
LOG_EVENTS = {BreachChange.BEGUN: "an SLO is breached", BreachChange.OVER: "an SLO is OK again"}


class SloWatcher:
    """Keeps rolling statistics of each scheduler, and reports once when a breach begins and when it is over.

    Attach it to `EVENTS`; `run` evaluates them.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        log: Logger,
        telemetry: Telemetry,
        store: SloStore,
        process: str,
        settings: SloSettings,
        eval_ms: float,
        expected: Sequence[str] = (),
        last_idle_at: Callable[[], datetime | None] = lambda: None,
    ) -> None:
        self._clock = clock
        self._log = log
        self._attempts = Attempts("slo-watcher", clock, log)
        self._telemetry = telemetry
        self._store = store
        self._process = process
        self._settings = settings
        self._eval_ms = eval_ms
        self._rolling: dict[str, RollingStatistics] = {}
        self._ticked_at: dict[str, datetime] = dict.fromkeys(expected, clock.now())
        self._states: dict[tuple[str, Slo], SloState] = {}
        self._resumed = False
        self._last_idle_at = last_idle_at
        """When the process was last idle: until then no scheduler owed a tick."""

    def emit(self, event: str, measurements: Measurements, metadata: Metadata) -> None:
        """Add one event to the statistics."""
        if event not in EVENTS:
            return
        scheduler, now = str(metadata.get("scheduler", "daily")), self._clock.now()
        rolling = self._statistics(scheduler)
        if rolling is None:
            return
        if event == JOB:
            rolling.run(now, measurements["duration_ms"])
        elif event == TICK:
            self._ticked_at[scheduler] = now
            rolling.tick(now, measurements["duration_ms"])
        else:
            _add(rolling, event, measurements, metadata, now=now)

    async def run(self) -> None:
        """Evaluate every so often, until cancelled; a breach that was open before a restart stays open."""
        while not self._resumed:
            self._resumed = await self._attempts.try_once(self._resume())
            if not self._resumed:
                await self._clock.sleep(self._eval_ms)
        while True:
            await self._clock.sleep(self._eval_ms)
            await self._attempts.try_once(self._store.put_slos(self.evaluate()))

    def evaluate(self) -> list[SloStatus]:
        """Judge every objective once, and report what has changed."""
        now = self._clock.now()
        return [self._judge(scheduler, measured, now) for scheduler, measured in self._measured(now)]

    def _measured(self, now: datetime) -> Iterator[tuple[str, SloMeasurement]]:
        for scheduler, rolling in self._rolling.items():
            for measured in measure(rolling, self._settings, now):
                yield scheduler, measured
        idle_at = self._last_idle_at()
        for scheduler, ticked_at in self._ticked_at.items():
            since = ticked_at if idle_at is None else max(ticked_at, idle_at)
            yield scheduler, measure_silence(since, self._settings, now)

    def _judge(self, scheduler: str, measured: SloMeasurement, now: datetime) -> SloStatus:
        key = (scheduler, measured.slo)
        before = self._states.get(key, SloState())
        after, change = judge(before, measured, self._settings, now)
        self._states[key] = after
        if change is not None:
            self._report(change, scheduler, measured, after.breached_since or before.breached_since or now)
        return SloStatus(self._process, scheduler, now, self._settings.window_of(measured.slo), after)

    def _report(
        self, change: BreachChange, scheduler: str, measured: SloMeasurement, since: datetime
    ) -> None:
        facts: dict[str, Any] = {
            "slo": measured.slo.value,
            "scheduler": scheduler,
            "window_minutes": self._settings.window_of(measured.slo),
            "value": measured.value,
            "threshold": measured.threshold,
            "samples": measured.samples,
            "since": iso(since),
        }
        if measured.slo is Slo.CUTOFF_MISS_RATE:
            facts["due_bucket"] = measured.due_bucket
        if measured.slo is Slo.QUEUE_PRESSURE:
            facts["rising"] = measured.rising
        log = self._log.warning if change is BreachChange.BEGUN else self._log.info
        log(LOG_EVENTS[change], **facts)
        metadata = {**facts, "change": change.value, "process": self._process}
        self._telemetry.emit(SLO_CHANGED, {"breached": float(change is BreachChange.BEGUN)}, metadata)

    async def _resume(self) -> None:
        """Resume the breaches that were open when this process stopped."""
        for status in await self._store.slos(self._clock.now() - RESUMED):
            state = status.state
            if status.process == self._process and state.breached_since and state.measured:
                self._states[status.scheduler, state.measured.slo] = state

    def _statistics(self, scheduler: str) -> RollingStatistics | None:
        rolling = self._rolling.get(scheduler)
        if rolling is None and len(self._rolling) < MOST_SCHEDULERS:
            rolling = self._rolling[scheduler] = RollingStatistics(
                self._settings.slo_window_minutes, tick_minutes=self._settings.window_of(Slo.TICK_BUDGET)
            )
        return rolling


def _add(
    rolling: RollingStatistics,
    event: str,
    measurements: Measurements,
    metadata: Mapping[str, Any],
    *,
    now: datetime,
) -> None:
    if event == DEPTH:
        rolling.depth(now, measurements["depth"])
    elif event == IN_FLIGHT:
        full = 0 < metadata["max_concurrency"] <= measurements["in_flight"]
        rolling.in_flight(now, full=full or metadata.get("full_tenants", 0) > 0)
    elif not metadata.get("late"):  # A late finalization is due to a process that was down, and is no miss.
        missed = metadata["status"] == "cutoff_reached"
        rolling.finalized(now, missed=missed, due_bucket=metadata["due_bucket"])
