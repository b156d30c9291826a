"""Figures about the schedulers for Prometheus, counted in plain numbers. No tenants, users or endpoints."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

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
MOST_VALUES = 50
"""A label has no more values than this, whoever emits what; the rest is `other`."""
TICKED = ("claimed", "users_scanned", "enqueued", "cutoff_finalized")
"""What ticks count up, in their metadata."""
OTHER = "other"
Labels = tuple[str, ...]


class Series(NamedTuple):
    """A metric: its name, what it says, its labels and, if it is a histogram, its bounds."""

    name: str
    help: str
    labels: tuple[str, ...]
    bounds: tuple[float, ...] = ()


TICK_TIME = Series("cadenza_tick_seconds", "How long ticks took.", ("scheduler",), TICK_SECONDS)
JOB_TIME = Series("cadenza_job_seconds", "How long jobs took.", ("scheduler", "result"), JOB_SECONDS)
LATENESS = Series(
    "cadenza_job_late_seconds", "How much later than due jobs started.", ("scheduler",), LATE_SECONDS
)
HISTOGRAMS = (TICK_TIME, JOB_TIME, LATENESS)
WORK = Series("cadenza_tick_work", "What ticks did, by kind.", ("scheduler", "kind"))
ERRORS = Series("cadenza_job_errors", "Jobs that failed, by class of error.", ("scheduler", "error_class"))
SKIPS = Series("cadenza_jobs_skipped", "Runs that were not dispatched, by status.", ("scheduler", "status"))
FINALIZED = Series("cadenza_finalized", "Days that got their verdict.", ("status", "late"))
CRASHES = Series("cadenza_part_crashes", "Crashes of the process's parts.", ("part",))
BREACHES = Series("cadenza_slo_breaches", "Breaches that began.", ("scheduler", "slo"))
ALERTS = Series("cadenza_alerts", "Attempts to send an alert.", ("kind", "result"))
COUNTERS = (WORK, ERRORS, SKIPS, FINALIZED, CRASHES, BREACHES, ALERTS)
WAITING = Series("cadenza_queue_depth", "How much waits.", ("scheduler",))
RUNNING = Series("cadenza_in_flight", "How much is in hand.", ("scheduler",))
MOST = Series("cadenza_max_concurrency", "How much may be in hand.", ("scheduler",))
ELIGIBLE = Series("cadenza_eligible_in_window", "Users in their window at the last tick.", ("scheduler",))
BREACHED = Series("cadenza_slo_breached", "Whether a promise is broken just now.", ("scheduler", "slo"))
GAUGES = (WAITING, RUNNING, MOST, ELIGIBLE, BREACHED)


class SchedulerMetrics(Collector):
    """Counts what schedulers, the SLO watcher, alerts and supervision tell."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._counts: defaultdict[str, Counter[Labels]] = defaultdict(Counter)
        self._gauges: defaultdict[str, dict[Labels, float]] = defaultdict(dict)
        self._buckets: defaultdict[str, dict[Labels, list[float]]] = defaultdict(dict)
        self._places: dict[tuple[object, ...], Labels] = {}
        self._known: defaultdict[str, set[str]] = defaultdict(set)
        self._take: dict[str, Callable[[Measurements, Metadata], None]] = {
            TICK: self._ticked,
            JOB: self._job,
            SKIPPED: lambda _, told: self._count(SKIPS, told),
            DEPTH: lambda measured, told: self._set(WAITING, told, measured["depth"]),
            IN_FLIGHT: self._in_flight,
            FINALIZE: lambda _, told: self._count(FINALIZED, told),
            PART_CRASHED: lambda _, told: self._count(CRASHES, told),
            SLO_CHANGED: self._slo,
            ALERT: lambda _, told: self._count(ALERTS, told),
        }
        registry.register(self)

    def emit(self, event: str, measurements: Measurements, metadata: Metadata) -> None:
        """Count it, if it is known."""
        take = self._take.get(event)
        if take is not None:
            take(measurements, metadata)

    def collect(self) -> Iterator[Metric]:
        """What Prometheus asks for."""
        for series in COUNTERS:
            counter = CounterMetricFamily(series.name, series.help, labels=series.labels)
            for labels, count in self._counts[series.name].items():
                counter.add_metric(labels, count)
            yield counter
        for series in GAUGES:
            gauge = GaugeMetricFamily(series.name, series.help, labels=series.labels)
            for labels, value in self._gauges[series.name].items():
                gauge.add_metric(labels, value)
            yield gauge
        for series in HISTOGRAMS:
            yield self._histogram(series)

    def _histogram(self, series: Series) -> Metric:
        family = HistogramMetricFamily(series.name, series.help, labels=series.labels)
        bounds = (*map(str, series.bounds), "+Inf")
        for labels, (total, *buckets) in self._buckets[series.name].items():
            family.add_metric(labels, list(zip(bounds, accumulate(buckets), strict=True)), total)
        return family

    def _ticked(self, measured: Measurements, told: Metadata) -> None:
        self._observe(TICK_TIME, told, measured["duration_ms"])
        for kind in TICKED:
            if told.get(kind):
                self._count(WORK, {**told, "kind": kind}, told[kind])
        if "eligible_in_window" in told:
            self._set(ELIGIBLE, told, told["eligible_in_window"])

    def _job(self, measured: Measurements, told: Metadata) -> None:
        self._observe(JOB_TIME, told, measured["duration_ms"])
        if "late_ms" in measured:
            self._observe(LATENESS, told, measured["late_ms"])
        if told.get("error_class") is not None:
            self._count(ERRORS, told)

    def _in_flight(self, measured: Measurements, told: Metadata) -> None:
        self._set(RUNNING, told, measured["in_flight"])
        self._set(MOST, told, told["max_concurrency"])

    def _slo(self, measured: Measurements, told: Metadata) -> None:
        self._set(BREACHED, told, measured["breached"])
        if measured["breached"]:
            self._count(BREACHES, told)

    def _count(self, series: Series, told: Metadata, amount: Any = 1) -> None:
        self._counts[series.name][self._labels(series, told)] += amount

    def _set(self, series: Series, told: Metadata, value: Any) -> None:
        self._gauges[series.name][self._labels(series, told)] = value

    def _observe(self, series: Series, told: Metadata, milliseconds: float) -> None:
        labels, seconds = self._labels(series, told), milliseconds / 1_000
        found = self._buckets[series.name].get(labels)
        if found is None:
            found = self._buckets[series.name][labels] = [0.0] * (len(series.bounds) + 2)
        found[0] += seconds
        found[1 + bisect_left(series.bounds, seconds)] += 1

    def _labels(self, series: Series, told: Metadata) -> Labels:
        raw = (series.name, *map(told.get, series.labels))
        known = self._places.get(raw)
        if known is not None:
            return known
        labels = tuple([self._bounded(label, str(told.get(label, ""))) for label in series.labels])
        if OTHER not in labels:
            self._places[raw] = labels
        return labels

    def _bounded(self, label: str, value: str) -> str:
        known = self._known[label]
        if value in known:
            return value
        if len(known) >= MOST_VALUES:
            return OTHER
        known.add(value)
        return value
