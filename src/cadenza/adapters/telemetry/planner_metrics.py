"""Figures about planners: sittings and tokens by planner, and how far behind. No endpoints in them."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from cadenza.ports.telemetry import Measurements, Metadata

SITTING, FED = "planner.sitting.stop", "planner.feed.stop"
SECONDS = (0.001, 0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class PlannerMetrics:
    """Counts what planners do."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._sittings = Counter(
            "cadenza_planner_sittings",
            "Sittings by planner and how they ended.",
            ["planner", "result"],
            registry=registry,
        )
        self._tokens = Counter(
            "cadenza_planner_tokens", "Tokens that planners spent.", ["planner"], registry=registry
        )
        self._calls = Counter(
            "cadenza_planner_calls", "Tools that planners called.", ["planner"], registry=registry
        )
        self._seconds = Histogram(
            "cadenza_planner_sitting_seconds",
            "How long sittings took.",
            ["planner"],
            buckets=SECONDS,
            registry=registry,
        )
        self._lag = Gauge(
            "cadenza_planner_lag_seconds", "How long ago the last run that was fed ended.", registry=registry
        )
        self._waiting = Gauge(
            "cadenza_planner_waiting", "Endpoints that wait to be thought about.", registry=registry
        )
        self._passed_over = Counter(
            "cadenza_planner_passed_over", "Endpoints that were not, for want of room.", registry=registry
        )

    def emit(self, event: str, measurements: Measurements, metadata: Metadata) -> None:
        """Count it, if it is about planners."""
        if event == SITTING:
            planner = str(metadata["planner"])
            self._sittings.labels(planner, str(metadata["result"])).inc()
            self._tokens.labels(planner).inc(measurements["tokens"])
            self._calls.labels(planner).inc(measurements["calls"])
            self._seconds.labels(planner).observe(measurements["duration_ms"] / 1_000)
        elif event == FED:
            self._lag.set(measurements["lag_ms"] / 1_000)
            self._waiting.set(measurements["waiting"])
            self._passed_over.inc(measurements["passed_over"])
