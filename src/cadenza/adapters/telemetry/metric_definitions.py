"""All metrics in one table: names, labels, and which events change them. No tenants, users or endpoints."""

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any, NamedTuple

from cadenza.ports.telemetry import (
    ALERT,
    CHANNEL_MESSAGE,
    DEPTH,
    ENDPOINT_PAUSED,
    ENDPOINT_SUSPECTED,
    FINALIZE,
    IN_FLIGHT,
    JOB,
    PART_CRASHED,
    SKIPPED,
    SLO_CHANGED,
    TICK,
    Measurements,
    Metadata,
)

TICK_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.5, 5.0, 15.0)
JOB_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
LATE_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 60.0, 300.0, 3600.0)


class MetricKind(StrEnum):
    """The kinds of metrics."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    """Of milliseconds."""


class MetricDefinition(NamedTuple):
    """A metric with its names for Prometheus and OpenTelemetry, and its labels."""

    kind: MetricKind
    name: str
    otel: str
    help: str
    labels: tuple[str, ...]
    bounds: tuple[float, ...] = ()
    """The bucket bounds of a histogram, in seconds."""


Value = Callable[[Measurements, Metadata], Any]
"""Reads a value from an event; None if it has none."""


class MetricSource(NamedTuple):
    """How an event changes a metric."""

    metric: MetricDefinition
    value: Value
    work: str | None = None
    """The value of the label `kind`, where the metric has one."""


def _from_measurements(name: str) -> Value:
    return lambda measurements, _: measurements.get(name)


def _from_metadata(name: str) -> Value:
    return lambda _, metadata: metadata.get(name)


def _once(_: Measurements, __: Metadata) -> int:
    return 1


def _work_counter(kind: str) -> MetricSource:
    return MetricSource(WORK, lambda _, metadata: metadata.get(kind) or None, kind)


def _failed(_: Measurements, metadata: Metadata) -> int | None:
    return None if metadata.get("error_class") is None else 1


def _breach_begun(measurements: Measurements, _: Metadata) -> float | None:
    return measurements["breached"] or None


TICK_TIME = MetricDefinition(
    MetricKind.HISTOGRAM,
    "cadenza_tick_seconds",
    "cadenza.tick.duration",
    "How long ticks took.",
    ("scheduler",),
    TICK_SECONDS,
)
WORK = MetricDefinition(
    MetricKind.COUNTER,
    "cadenza_tick_work",
    "cadenza.tick.work",
    "What ticks did, by kind.",
    ("scheduler", "kind"),
)
ELIGIBLE = MetricDefinition(
    MetricKind.GAUGE,
    "cadenza_eligible_in_window",
    "cadenza.eligible_in_window",
    "Users in their window at the last tick.",
    ("scheduler",),
)
JOB_TIME = MetricDefinition(
    MetricKind.HISTOGRAM,
    "cadenza_job_seconds",
    "cadenza.job.duration",
    "How long jobs took.",
    ("scheduler", "result"),
    JOB_SECONDS,
)
LATENESS = MetricDefinition(
    MetricKind.HISTOGRAM,
    "cadenza_job_late_seconds",
    "cadenza.job.lateness",
    "How much later than due jobs started.",
    ("scheduler",),
    LATE_SECONDS,
)
ERRORS = MetricDefinition(
    MetricKind.COUNTER,
    "cadenza_job_errors",
    "cadenza.job.errors",
    "Jobs that failed, by class of error.",
    ("scheduler", "error_class"),
)
SKIPS = MetricDefinition(
    MetricKind.COUNTER,
    "cadenza_jobs_skipped",
    "cadenza.jobs.skipped",
    "Runs that were not dispatched, by status.",
    ("scheduler", "status"),
)
QUEUE_DEPTH = MetricDefinition(
    MetricKind.GAUGE, "cadenza_queue_depth", "cadenza.queue.depth", "How much waits.", ("scheduler",)
)
IN_FLIGHT_NOW = MetricDefinition(
    MetricKind.GAUGE, "cadenza_in_flight", "cadenza.in_flight", "How much is in hand.", ("scheduler",)
)
MAX_CONCURRENCY = MetricDefinition(
    MetricKind.GAUGE,
    "cadenza_max_concurrency",
    "cadenza.max_concurrency",
    "How much may be in hand.",
    ("scheduler",),
)
FULL_TENANTS = MetricDefinition(
    MetricKind.GAUGE,
    "cadenza_full_tenants",
    "cadenza.full_tenants",
    "Tenants that hold as many places of a worker as they may.",
    ("scheduler",),
)
FINALIZED = MetricDefinition(
    MetricKind.COUNTER,
    "cadenza_finalized",
    "cadenza.finalized",
    "Days that got their verdict.",
    ("status", "late"),
)
BREACHED = MetricDefinition(
    MetricKind.GAUGE,
    "cadenza_slo_breached",
    "cadenza.slo.breached",
    "Whether a promise is broken just now.",
    ("scheduler", "slo"),
)
BREACHES = MetricDefinition(
    MetricKind.COUNTER,
    "cadenza_slo_breaches",
    "cadenza.slo.breaches",
    "Breaches that began.",
    ("scheduler", "slo"),
)
CRASHES = MetricDefinition(
    MetricKind.COUNTER,
    "cadenza_part_crashes",
    "cadenza.part.crashes",
    "Crashes of the process's parts.",
    ("part",),
)
SUSPECTED = MetricDefinition(
    MetricKind.COUNTER,
    "cadenza_endpoints_suspected",
    "cadenza.endpoints.suspected",
    "Runs that were in flight when their process died, by how they are run next.",
    ("scheduler", "trial"),
)
PAUSED = MetricDefinition(
    MetricKind.COUNTER,
    "cadenza_endpoints_paused",
    "cadenza.endpoints.paused",
    "Endpoints that were paused until resumed, because their worker processes died.",
    ("scheduler",),
)
ALERTS = MetricDefinition(
    MetricKind.COUNTER, "cadenza_alerts", "cadenza.alerts", "Attempts to send an alert.", ("kind", "result")
)
CHANNEL_MESSAGES = MetricDefinition(
    MetricKind.COUNTER,
    "cadenza_channel_messages",
    "cadenza.channel.messages",
    "Attempts to send a user a message over a channel.",
    ("channel", "result"),
)

METRICS_BY_EVENT: dict[str, tuple[MetricSource, ...]] = {
    TICK: (
        MetricSource(TICK_TIME, _from_measurements("duration_ms")),
        *map(_work_counter, ("claimed", "users_scanned", "enqueued", "cutoff_finalized")),
        MetricSource(ELIGIBLE, _from_metadata("eligible_in_window")),
    ),
    JOB: (
        MetricSource(JOB_TIME, _from_measurements("duration_ms")),
        MetricSource(LATENESS, _from_measurements("late_ms")),
        MetricSource(ERRORS, _failed),
    ),
    SKIPPED: (MetricSource(SKIPS, _once),),
    DEPTH: (MetricSource(QUEUE_DEPTH, _from_measurements("depth")),),
    IN_FLIGHT: (
        MetricSource(IN_FLIGHT_NOW, _from_measurements("in_flight")),
        MetricSource(MAX_CONCURRENCY, _from_metadata("max_concurrency")),
        MetricSource(FULL_TENANTS, _from_metadata("full_tenants")),
    ),
    FINALIZE: (MetricSource(FINALIZED, _from_measurements("days")),),
    SLO_CHANGED: (
        MetricSource(BREACHED, _from_measurements("breached")),
        MetricSource(BREACHES, _breach_begun),
    ),
    PART_CRASHED: (MetricSource(CRASHES, _once),),
    ENDPOINT_SUSPECTED: (MetricSource(SUSPECTED, _once),),
    ENDPOINT_PAUSED: (MetricSource(PAUSED, _once),),
    ALERT: (MetricSource(ALERTS, _once),),
    CHANNEL_MESSAGE: (MetricSource(CHANNEL_MESSAGES, _once),),
}
METRICS = tuple({point.metric: None for of_event in METRICS_BY_EVENT.values() for point in of_event})


def metric_values(
    event: str, measurements: Measurements, metadata: Metadata
) -> Iterator[tuple[MetricDefinition, float, Metadata]]:
    """The metrics that an event changes: each with its value, and the metadata that holds its labels."""
    for metric, value_of, work in METRICS_BY_EVENT.get(event, ()):
        value = value_of(measurements, metadata)
        if value is not None:
            yield metric, value, metadata if work is None else {**metadata, "kind": work}
