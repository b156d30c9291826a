"""Settling that cannot fail: an endpoint that no plan can be made for is paused, and costs no other."""

from collections.abc import Callable

from cadenza.domain.monitoring.alert import Raised, of_failures, of_recovery
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Completion
from cadenza.domain.scheduling.settle import Settled, settle, unplannable
from cadenza.domain.validation import LONGEST_TEXT
from cadenza.engine.worker.events import how_it_fared
from cadenza.ports.clock import Clock, Cron
from cadenza.ports.telemetry import ENDPOINT_FAILED, Logger

RaiseFor = Callable[[Settled, int], Raised | None]
"""What people are told of a settled run, by it and by how often its endpoint had failed before."""


class EndpointAlerts:
    """Tells of the N-th failure in a row, and of the recovery from it."""

    def __init__(self, *, clock: Clock, failures: int, owed: bool) -> None:
        self._clock = clock
        self._failures = failures
        self._owed = owed

    def __call__(self, settled: Settled, failures_before: int) -> Raised | None:
        """The alert that a run gives cause for."""
        event, measurements, metadata = how_it_fared(settled.endpoint, settled.run, failures_before)
        make = of_failures if event == ENDPOINT_FAILED else of_recovery
        alert = make({**measurements, **metadata}, self._clock.now(), most=self._failures)
        return None if alert is None else Raised(alert, self._owed)


class Settler:
    """Settles an endpoint by the rules, at the present moment."""

    def __init__(self, *, clock: Clock, cron: Cron, log: Logger, alerts: RaiseFor | None = None) -> None:
        self._clock = clock
        self._cron = cron
        self._log = log
        self._alerts = alerts

    def __call__(self, endpoint: Endpoint, completion: Completion) -> Settled:
        """The endpoint after its run, and what people are told of it."""
        settled, before = self._settled(endpoint, completion), endpoint.failure_count
        if self._alerts is None or settled.endpoint.failure_count == before:
            return settled
        return settled._replace(raised=self._alerts(settled, before))

    def _settled(self, endpoint: Endpoint, completion: Completion) -> Settled:
        try:
            return settle(endpoint, completion, now=self._clock.now(), cron=self._cron)
        except Exception as problem:  # noqa: BLE001 - one that cannot be planned must not block its batch
            facts = {"endpoint_id": endpoint.id, "run_id": completion.claim.run_id, "problem": repr(problem)}
            self._log.warning("an endpoint cannot be planned and is paused", **facts)
            return unplannable(endpoint, completion, f"it cannot be planned: {problem}"[:LONGEST_TEXT])
