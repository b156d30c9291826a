"""Telemetry events and structured logs."""

from collections.abc import Mapping
from typing import Protocol

from cadenza.domain.scheduling.endpoint import Endpoint

Measurements = Mapping[str, float]
Metadata = Mapping[str, str | int | float | bool | None]

TICK = "sched.tick.stop"
DEPTH = "sched.queue.depth"
IN_FLIGHT = "sched.executor.in_flight"
JOB = "sched.job.stop"
SKIPPED = "sched.job.skip"
FINALIZE = "sched.finalize"
SLO_CHANGED = "slo.changed"
PART_CRASHED = "process.part.crash"
ENDPOINT_FAILED = "endpoint.failed"
ENDPOINT_RECOVERED = "endpoint.recovered"
ENDPOINT_SUSPECTED = "endpoint.suspected"
ENDPOINT_PAUSED = "endpoint.paused"
QUOTA_SPENT = "quota.spent"
ALERT = "alert.stop"
CHANNEL_MESSAGE = "channel.stop"


class Telemetry(Protocol):
    """Receives events; a handler never disturbs the emitter."""

    def emit(self, event: str, measurements: Measurements, metadata: Metadata) -> None:
        """Pass an event to all handlers; never raise, never wait."""
        ...


class Logger(Protocol):
    """Structured log lines: a short text, and facts as fields."""

    @property
    def verbose(self) -> bool:
        """Whether debug lines are wanted; ask before building one on the hot path."""
        ...

    def debug(self, event: str, **facts: object) -> None:
        """A detail, off by default."""
        ...

    def info(self, event: str, **facts: object) -> None:
        """What an operator wants to know in normal operation."""
        ...

    def warning(self, event: str, **facts: object) -> None:
        """What an operator should look at."""
        ...

    def error(self, event: str, **facts: object) -> None:
        """What has stopped working and does not come back by itself."""
        ...


def endpoint_facts(endpoint: Endpoint, run_id: str | None) -> dict[str, str | None]:
    """What every log line and event about an endpoint says: whose it is, and during which run, if any."""
    return {
        "tenant_id": endpoint.tenant_id,
        "job_id": endpoint.job_id,
        "endpoint_id": endpoint.id,
        "run_id": run_id,
    }
