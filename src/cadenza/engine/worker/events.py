"""The events and log lines of a worker."""

from collections.abc import Mapping
from typing import NamedTuple

from cadenza.domain.job_failure import ErrorClass
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Completion, Outcome, Run, RunStatus
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.ports.telemetry import (
    DEPTH,
    ENDPOINT_FAILED,
    ENDPOINT_RECOVERED,
    IN_FLIGHT,
    JOB,
    SKIPPED,
    TICK,
    Logger,
    Measurements,
    Metadata,
    Telemetry,
)

SCHEDULER = "endpoints"
"""The name of the scheduler in events; the daily runner has another."""
RESULTS: Mapping[RunStatus | None, str] = {
    RunStatus.SUCCESS: "ok",
    RunStatus.FAILURE: "error",
    RunStatus.TIMEOUT: "timeout",
}


class ClaimPass(NamedTuple):
    """One pass of a worker's loop: a claim, and what the worker holds after it."""

    duration_ms: float
    claimed: int
    held: int
    running: int
    """Held claims that are with a dispatcher."""
    concurrency: int
    """How many claims it may hold."""


class WorkerEvents:
    """Emits an event for each pass of the loop, and for each run when it is settled."""

    def __init__(self, telemetry: Telemetry, log: Logger) -> None:
        self._telemetry = telemetry
        self._log = log

    def tick(self, duration_ms: float, claimed: int) -> None:
        """A pass is over."""
        self._emit(TICK, {"duration_ms": duration_ms}, {"claimed": claimed})

    def claim_pass(self, done: ClaimPass) -> None:
        """A pass of the running loop is over."""
        self.tick(done.duration_ms, done.claimed)
        self._emit(DEPTH, {"depth": max(0, done.held - done.running)}, {})
        self._emit(IN_FLIGHT, {"in_flight": done.held}, {"max_concurrency": done.concurrency})

    def settled(self, settled: SettledRun, completion: Completion) -> None:
        """A run is settled."""
        endpoint, run, *_ = settled
        failures_before = completion.claim.endpoint.failure_count
        result = RESULTS.get(run.status)
        if result is None:
            self._emit(SKIPPED, {}, {"status": str(run.status)})
        else:
            metadata: dict[str, str] = {"result": result, "source": run.source, "scheduler": SCHEDULER}
            if result != "ok":
                metadata["error_class"] = _error_class(completion.outcome)
            self._telemetry.emit(JOB, {"duration_ms": run.duration_ms, "late_ms": run.late_ms}, metadata)
        if endpoint.failure_count != failures_before:
            self.failures_changed(endpoint, run, failures_before)
        if self._log.verbose:
            self._log.debug("run", **_facts(run), status=run.status, attempt=run.attempt, late_ms=run.late_ms)

    def failures_changed(self, endpoint: Endpoint, run: Run, failures_before: int) -> None:
        """An endpoint failed once more, or has recovered."""
        if not endpoint.failure_count:
            self._log.info("an endpoint is well again", endpoint_id=endpoint.id, failures=failures_before)
        elif not failures_before:
            self._log.warning("an endpoint has begun to fail", **_facts(run))
        self._telemetry.emit(*failure_event(endpoint, run, failures_before))

    def _emit(self, event: str, measurements: Mapping[str, float], metadata: Metadata) -> None:
        self._telemetry.emit(event, measurements, {**metadata, "scheduler": SCHEDULER})


class EndpointEvent(NamedTuple):
    """An event about an endpoint."""

    event: str
    measurements: Measurements
    metadata: Metadata


def failure_event(endpoint: Endpoint, run: Run, failures_before: int) -> EndpointEvent:
    """The event that an endpoint failed once more, or has recovered."""
    about: dict[str, str | None] = {
        "tenant_id": endpoint.tenant_id,
        "job_id": endpoint.job_id,
        "endpoint_id": endpoint.id,
        "run_id": run.id,
        "scheduler": SCHEDULER,
    }
    if not endpoint.failure_count:
        return EndpointEvent(ENDPOINT_RECOVERED, {"failures": failures_before}, about)
    error = run.error or run.reason or str(run.status)
    return EndpointEvent(ENDPOINT_FAILED, {"failures": endpoint.failure_count}, {**about, "error": error})


def _facts(run: Run) -> dict[str, object]:
    """What a log line says of a run: whose it is and, if it failed, how."""
    facts: dict[str, object] = {
        "tenant_id": run.tenant_id,
        "job_id": run.job_id,
        "endpoint_id": run.endpoint_id,
        "run_id": run.id,
        "error": run.error,
    }
    return facts if run.traceback is None else {**facts, "traceback": run.traceback}


def _error_class(outcome: Outcome) -> str:
    """The kind of a failure; a timeout does not tell what took so long, so it is the same for all targets."""
    return ErrorClass.UNKNOWN if outcome.status is RunStatus.TIMEOUT else outcome.error_class
