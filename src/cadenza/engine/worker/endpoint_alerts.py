"""Alerts about endpoints: made while a run is settled, and kept in the commit that closes it."""

from collections.abc import Callable

from cadenza.domain.monitoring.alert import Raised, of_failures, of_recovery
from cadenza.domain.scheduling.settle import Settled
from cadenza.engine.worker.events import how_it_fared
from cadenza.ports.clock import Clock
from cadenza.ports.telemetry import ENDPOINT_FAILED

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
