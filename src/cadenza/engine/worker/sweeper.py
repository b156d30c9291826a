"""Abandons runs whose lease ran out, and clears one-shot hints that were never served."""

from functools import partial

from cadenza.domain.scheduling.abandon import abandonment, tidy
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Run
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.domain.validation import iso
from cadenza.engine.async_helpers import Attempts
from cadenza.engine.worker.events import WorkerEvents
from cadenza.engine.worker.settle import AlertRule, SettleRule
from cadenza.ports.clock import Clock, CronCalculator
from cadenza.ports.scheduling import EndpointStore, SweepRules
from cadenza.ports.telemetry import Logger

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

    async def run(self, every_ms: float) -> None:
        """Sweep at once, and then every so often, until cancelled."""
        while True:
            await self._attempts.try_once(self.sweep())
            await self._clock.sleep(every_ms)

    async def sweep(self) -> list[SettledRun]:
        """Abandon every run whose lease ran out; its slot is due again, as the guard allows."""
        now = self._clock.now()

        def abandon(endpoint: Endpoint, run: Run) -> SettledRun:
            return self._rule(endpoint, abandonment(endpoint, run, now))

        rules = SweepRules(abandon, partial(tidy, now=now))
        abandoned: list[SettledRun] = []
        while batch := await self._store.sweep(now=now, limit=BATCH, rules=rules):
            abandoned += batch
        self._report(abandoned)
        return abandoned

    def _report(self, abandoned: list[SettledRun]) -> None:
        """Log one line for all of them, and one for each endpoint that is paused for it."""
        if abandoned:
            some = [settled.run.id for settled in abandoned[:LOGGED_RUN_IDS]]
            self._log.warning("runs were abandoned by their worker", runs=len(abandoned), run_ids=some)
        for endpoint, run, *_ in abandoned:
            if self._events is not None and endpoint.failure_count:
                self._events.failures_changed(endpoint, run, endpoint.failure_count - 1)
            if self._log.verbose:
                facts = {"endpoint_id": endpoint.id, "run_id": run.id, "slot": iso(run.slot)}
                self._log.debug("a run was abandoned", **facts)
            if run.verdict:
                self._log.warning(
                    "an endpoint is paused", endpoint_id=endpoint.id, reason=endpoint.pause_reason
                )
