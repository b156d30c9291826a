"""What events become, wherever figures are sent: names, labels and values in one table. Nobody is named."""

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any, NamedTuple

from cadenza.ports.telemetry import (
    ALERT,
    DEPTH,
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


class Kind(StrEnum):
    """How values of a figure come together."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    """Of milliseconds."""


class Series(NamedTuple):
    """A figure by its names, for Prometheus and for OpenTelemetry, and what stands beside it."""

    kind: Kind
    name: str
    otel: str
    help: str
    labels: tuple[str, ...]
    bounds: tuple[float, ...] = ()
    """In seconds, of a histogram."""


Value = Callable[[Measurements, Metadata], Any]
"""None where an event has nothing to tell."""


class Point(NamedTuple):
    """What an event adds to a series."""

    series: Series
    value: Value
    work: str | None = None
    """The `kind` of work that it is about, where that is a label."""


def _measured(name: str) -> Value:
    return lambda measurements, _: measurements.get(name)


def _told(name: str) -> Value:
    return lambda _, metadata: metadata.get(name)


def _once(_: Measurements, __: Metadata) -> int:
    return 1


def _work(kind: str) -> Point:
    return Point(WORK, lambda _, metadata: metadata.get(kind) or None, kind)


def _failed(_: Measurements, metadata: Metadata) -> int | None:
    return None if metadata.get("error_class") is None else 1


def _begun(measurements: Measurements, _: Metadata) -> float | None:
    return measurements["breached"] or None


TICK_TIME = Series(
    Kind.HISTOGRAM,
    "cadenza_tick_seconds",
    "cadenza.tick.duration",
    "How long ticks took.",
    ("scheduler",),
    TICK_SECONDS,
)
WORK = Series(
    Kind.COUNTER,
    "cadenza_tick_work",
    "cadenza.tick.work",
    "What ticks did, by kind.",
    ("scheduler", "kind"),
)
ELIGIBLE = Series(
    Kind.GAUGE,
    "cadenza_eligible_in_window",
    "cadenza.eligible_in_window",
    "Users in their window at the last tick.",
    ("scheduler",),
)
JOB_TIME = Series(
    Kind.HISTOGRAM,
    "cadenza_job_seconds",
    "cadenza.job.duration",
    "How long jobs took.",
    ("scheduler", "result"),
    JOB_SECONDS,
)
LATENESS = Series(
    Kind.HISTOGRAM,
    "cadenza_job_late_seconds",
    "cadenza.job.lateness",
    "How much later than due jobs started.",
    ("scheduler",),
    LATE_SECONDS,
)
ERRORS = Series(
    Kind.COUNTER,
    "cadenza_job_errors",
    "cadenza.job.errors",
    "Jobs that failed, by class of error.",
    ("scheduler", "error_class"),
)
SKIPS = Series(
    Kind.COUNTER,
    "cadenza_jobs_skipped",
    "cadenza.jobs.skipped",
    "Runs that were not dispatched, by status.",
    ("scheduler", "status"),
)
WAITING = Series(Kind.GAUGE, "cadenza_queue_depth", "cadenza.queue.depth", "How much waits.", ("scheduler",))
RUNNING = Series(Kind.GAUGE, "cadenza_in_flight", "cadenza.in_flight", "How much is in hand.", ("scheduler",))
MOST = Series(
    Kind.GAUGE,
    "cadenza_max_concurrency",
    "cadenza.max_concurrency",
    "How much may be in hand.",
    ("scheduler",),
)
FINALIZED = Series(
    Kind.COUNTER,
    "cadenza_finalized",
    "cadenza.finalized",
    "Days that got their verdict.",
    ("status", "late"),
)
BREACHED = Series(
    Kind.GAUGE,
    "cadenza_slo_breached",
    "cadenza.slo.breached",
    "Whether a promise is broken just now.",
    ("scheduler", "slo"),
)
BREACHES = Series(
    Kind.COUNTER, "cadenza_slo_breaches", "cadenza.slo.breaches", "Breaches that began.", ("scheduler", "slo")
)
CRASHES = Series(
    Kind.COUNTER,
    "cadenza_part_crashes",
    "cadenza.part.crashes",
    "Crashes of the process's parts.",
    ("part",),
)
ALERTS = Series(
    Kind.COUNTER, "cadenza_alerts", "cadenza.alerts", "Attempts to send an alert.", ("kind", "result")
)

POINTS: dict[str, tuple[Point, ...]] = {
    TICK: (
        Point(TICK_TIME, _measured("duration_ms")),
        *map(_work, ("claimed", "users_scanned", "enqueued", "cutoff_finalized")),
        Point(ELIGIBLE, _told("eligible_in_window")),
    ),
    JOB: (
        Point(JOB_TIME, _measured("duration_ms")),
        Point(LATENESS, _measured("late_ms")),
        Point(ERRORS, _failed),
    ),
    SKIPPED: (Point(SKIPS, _once),),
    DEPTH: (Point(WAITING, _measured("depth")),),
    IN_FLIGHT: (Point(RUNNING, _measured("in_flight")), Point(MOST, _told("max_concurrency"))),
    FINALIZE: (Point(FINALIZED, _once),),
    SLO_CHANGED: (Point(BREACHED, _measured("breached")), Point(BREACHES, _begun)),
    PART_CRASHED: (Point(CRASHES, _once),),
    ALERT: (Point(ALERTS, _once),),
}
SERIES = tuple({point.series: None for of_event in POINTS.values() for point in of_event})


def points(
    event: str, measurements: Measurements, metadata: Metadata
) -> Iterator[tuple[Series, float, Metadata]]:
    """What an event comes to: each series, its value, and among what its labels are found."""
    for series, value_of, work in POINTS.get(event, ()):
        value = value_of(measurements, metadata)
        if value is not None:
            yield series, value, metadata if work is None else {**metadata, "kind": work}
