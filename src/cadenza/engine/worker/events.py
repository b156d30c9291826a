"""What the endpoint scheduler tells: events for everybody, warnings for operators, details for who debugs."""

from collections.abc import Mapping
from typing import NamedTuple

from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.domain.scheduling.settle import Settled
from cadenza.domain.scheduling.target import HttpTarget, PromptTarget
from cadenza.domain.validation import iso
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
"""By this, listeners tell these events from those of the daily runner."""
RESULTS: Mapping[RunStatus | None, str] = {
    RunStatus.SUCCESS: "ok",
    RunStatus.FAILURE: "error",
    RunStatus.TIMEOUT: "timeout",
}


class Round(NamedTuple):
    """What one round of a worker's loop came to."""

    duration_ms: float
    claimed: int
    held: int
    """Claims in hand."""
    running: int
    """Those of them that are with a dispatcher."""
    most: int
    """How many it may hold."""


class Telling:
    """Tells of rounds, one event each, and of runs when they are settled."""

    def __init__(self, telemetry: Telemetry, log: Logger) -> None:
        self._telemetry = telemetry
        self._log = log

    def ticked(self, duration_ms: float, claimed: int) -> None:
        """A tick is over."""
        self._emit(TICK, {"duration_ms": duration_ms}, {"claimed": claimed})

    def went_round(self, done: Round) -> None:
        """A worker's loop went round."""
        self.ticked(done.duration_ms, done.claimed)
        self._emit(DEPTH, {"depth": max(0, done.held - done.running)}, {})
        self._emit(IN_FLIGHT, {"in_flight": done.held}, {"max_concurrency": done.most})

    def settled(self, settled: Settled, failures_before: int) -> None:
        """A run is over."""
        endpoint, run, *_ = settled
        result = RESULTS.get(run.status)
        if result is None:
            self._emit(SKIPPED, {}, {"status": str(run.status)})
        else:
            told: dict[str, str] = {"result": result, "source": run.source, "scheduler": SCHEDULER}
            if result != "ok":
                told["error_class"] = error_class(endpoint, run)
            self._telemetry.emit(JOB, {"duration_ms": run.duration_ms, "late_ms": run.late_ms}, told)
        if endpoint.failure_count != failures_before:
            self.fared(endpoint, run, failures_before)
        if self._log.verbose:
            self._detail(endpoint, run)

    def fared(self, endpoint: Endpoint, run: Run, failures_before: int) -> None:
        """An endpoint failed once more, or is well again."""
        if not endpoint.failure_count:
            self._log.info("an endpoint is well again", endpoint_id=endpoint.id, failures=failures_before)
        elif not failures_before:
            facts = {"endpoint_id": endpoint.id, "run_id": run.id, "error": run.error}
            self._log.warning("an endpoint has begun to fail", **facts)
        self._telemetry.emit(*how_it_fared(endpoint, run, failures_before))

    def _emit(self, event: str, measurements: Mapping[str, float], metadata: Metadata) -> None:
        self._telemetry.emit(event, measurements, {**metadata, "scheduler": SCHEDULER})

    def _detail(self, endpoint: Endpoint, run: Run) -> None:
        moment = iso(endpoint.next_run_at) if endpoint.next_run_at else "never"
        self._log.debug(f"[governor] {endpoint.id}: next={moment} source={endpoint.next_source}")
        self._log.debug(
            "run", run_id=run.id, endpoint_id=run.endpoint_id, status=run.status, late_ms=run.late_ms
        )


class Fared(NamedTuple):
    """An event about an endpoint."""

    event: str
    measurements: Measurements
    metadata: Metadata


def how_it_fared(endpoint: Endpoint, run: Run, failures_before: int) -> Fared:
    """That an endpoint failed once more, or is well again."""
    about: dict[str, str | None] = {
        "tenant_id": endpoint.tenant_id,
        "job_id": endpoint.job_id,
        "endpoint_id": endpoint.id,
        "run_id": run.id,
        "scheduler": SCHEDULER,
    }
    if not endpoint.failure_count:
        return Fared(ENDPOINT_RECOVERED, {"failures": failures_before}, about)
    error = run.error or run.reason or str(run.status)
    return Fared(ENDPOINT_FAILED, {"failures": endpoint.failure_count}, {**about, "error": error})


def error_class(endpoint: Endpoint, run: Run) -> str:
    """In which of four ways it failed: the request, the model, what came back, or something else."""
    match endpoint.target:
        case HttpTarget():
            seen = run.response if isinstance(run.response, dict) else {}
            return "parse" if seen.get("failure") in ("content", "protocol") else "req"
        case PromptTarget():
            return "llm"
        case _:
            return "unknown"
