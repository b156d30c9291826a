"""Events that others attach to."""

from collections.abc import Mapping
from typing import Protocol

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
QUOTA_SPENT = "quota.spent"
ALERT = "alert.stop"


class Telemetry(Protocol):
    """Takes events; what listens to them never disturbs who emits them."""

    def emit(self, event: str, measurements: Measurements, metadata: Metadata) -> None:
        """Tell everyone attached; never raise, never wait."""
        ...
