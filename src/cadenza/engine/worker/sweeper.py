"""Abandons runs whose lease ran out, and clears one-shot hints that were never served."""

from collections.abc import Callable
from datetime import datetime

from cadenza.domain.scheduling.abandon import abandonment, tidy
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import ProcessDeath, Run
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.domain.validation import iso
from cadenza.engine.async_helpers import Attempts
from cadenza.engine.worker.clock_check import ClockCheck
from cadenza.engine.worker.events import WorkerEvents
from cadenza.engine.worker.settle import AlertRule, SettleRule
from cadenza.ports.clock import Clock, CronCalculator
from cadenza.ports.scheduling import EndpointStore, SweepRules
from cadenza.ports.telemetry import Logger, endpoint_facts

BATCH = 500
LOGGED_RUN_IDS = 10
"""How many runs a log line names."""


class Sweeper:
    """Releases endpoints whose worker stopped renewing their lease."""

    def __init__(
        self,
        *,
        store: EndpointStore,
        clock: Clock,
        cron: CronCalculator,
        log: Logger,
        events: WorkerEvents | None = None,
        alerts: AlertRule | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._rule = SettleRule(clock=clock, cron=cron, log=log, alerts=alerts)
        self._log = log
        self._attempts = Attempts("worker/sweep", clock, log)
        self._events = events

    async def run(
        self,
        every_ms: float,
        on_abandoned: Callable[[], None] = lambda: None,
        clock_check: ClockCheck | None = None,
    ) -> None:
        """Sweep at once, and then every so often, until cancelled; say so when runs were abandoned.

        By a clock that cannot be trusted, nothing is swept.
        """
        while True:
            await self._attempts.try_once(self._sweep(on_abandoned, clock_check))
            await self._clock.sleep(every_ms)

    async def _sweep(self, on_abandoned: Callable[[], None], clock_check: ClockCheck | None) -> None:
        if (clock_check is None or await clock_check.look()) and await self.sweep():
            on_abandoned()

    async def sweep(self) -> list[SettledRun]:
        """Abandon every run whose lease ran out; its slot is due again, as the guard allows."""
        abandoned: list[SettledRun] = []
        while batch := await self._sweep_batch():
            abandoned += batch
        self._report(abandoned)
        return abandoned

    async def _sweep_batch(self) -> list[SettledRun]:
        """Sweep a batch, by the clock as it is now or, if it is set back before the commit, as it is then."""
        asked_at = self._clock.now()

        def now() -> datetime:
            return min(asked_at, self._clock.now())

        def abandon(endpoint: Endpoint, run: Run, death: ProcessDeath) -> SettledRun:
            return self._rule(endpoint, abandonment(endpoint, run, death, now()))

        rules = SweepRules(abandon, lambda endpoint: tidy(endpoint, now=now()))
        return await self._store.sweep(now=now, limit=BATCH, rules=rules)

    def _report(self, abandoned: list[SettledRun]) -> None:
        """Log one line for all of them, and one for each endpoint that is paused for it."""
        if abandoned:
            some = [settled.run.id for settled in abandoned[:LOGGED_RUN_IDS]]
            self._log.warning("runs were abandoned by their worker", runs=len(abandoned), run_ids=some)
        for endpoint, run, *_ in abandoned:
            if self._events is not None:
                self._events.abandoned(endpoint, run)
            if self._log.verbose:
                self._log.debug("a run was abandoned", **endpoint_facts(endpoint, run.id), slot=iso(run.slot))
            if run.verdict:
                facts = endpoint_facts(endpoint, run.id)
                self._log.warning("an endpoint is paused", **facts, reason=endpoint.pause_reason)
