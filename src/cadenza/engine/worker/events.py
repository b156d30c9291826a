"""The events and log lines of a worker."""

from collections.abc import Mapping
from typing import NamedTuple

from cadenza.domain.job_failure import ErrorClass
from cadenza.domain.scheduling.abandon import given_up, is_suspect, trial_of
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Completion, Outcome, Run, RunStatus
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.ports.telemetry import (
    DEPTH,
    ENDPOINT_FAILED,
    ENDPOINT_PAUSED,
    ENDPOINT_RECOVERED,
    ENDPOINT_SUSPECTED,
    IN_FLIGHT,
    JOB,
    SKIPPED,
    TICK,
    Logger,
    Measurements,
    Metadata,
    Telemetry,
    endpoint_facts,
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
    unended: int
    """Held claims that have not ended."""
    running: int
    """Those of them that have reached their moment."""
    concurrency: int
    """How many of these may be with a dispatcher."""
    full_tenants: int
    """How many tenants hold as many claims as they may."""


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
        running = min(done.running, done.concurrency)
        self._emit(DEPTH, {"depth": max(0, done.unended - running)}, {})
        bounds = {"max_concurrency": done.concurrency, "full_tenants": done.full_tenants}
        self._emit(IN_FLIGHT, {"in_flight": min(done.unended, done.concurrency)}, bounds)

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
        if endpoint.pause_origin is not None and given_up(endpoint):
            self._telemetry.emit(*pause_event(endpoint, run))
        if self._log.verbose:
            self._log.debug("run", **_facts(run), status=run.status, attempt=run.attempt, late_ms=run.late_ms)

    def failures_changed(self, endpoint: Endpoint, run: Run, failures_before: int) -> None:
        """An endpoint failed once more, or has recovered."""
        if not endpoint.failure_count:
            facts = endpoint_facts(endpoint, run.id)
            self._log.info("an endpoint recovered", **facts, failures=failures_before)
        elif not failures_before:
            self._log.warning("an endpoint started to fail", **_facts(run))
        self._telemetry.emit(*failure_event(endpoint, run, failures_before))

    def abandoned(self, endpoint: Endpoint, run: Run) -> None:
        """A run was abandoned: its endpoint is suspected, or paused until resumed."""
        if endpoint.failure_count:
            self.failures_changed(endpoint, run, endpoint.failure_count - 1)
        if given_up(endpoint):
            self._telemetry.emit(*pause_event(endpoint, run))
        elif is_suspect(endpoint):
            self._emit(ENDPOINT_SUSPECTED, {}, {"trial": str(trial_of(endpoint))})

    def _emit(self, event: str, measurements: Mapping[str, float], metadata: Metadata) -> None:
        self._telemetry.emit(event, measurements, {**metadata, "scheduler": SCHEDULER})


class EndpointEvent(NamedTuple):
    """An event about an endpoint."""

    event: str
    measurements: Measurements
    metadata: Metadata


def pause_event(endpoint: Endpoint, run: Run) -> EndpointEvent:
    """The event that an endpoint was paused until resumed."""
    about = {**endpoint_facts(endpoint, run.id), "scheduler": SCHEDULER}
    return EndpointEvent(ENDPOINT_PAUSED, {}, {**about, "reason": endpoint.pause_reason})


def failure_event(endpoint: Endpoint, run: Run, failures_before: int) -> EndpointEvent:
    """The event that an endpoint failed once more, or has recovered."""
    about = {**endpoint_facts(endpoint, run.id), "scheduler": SCHEDULER}
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
