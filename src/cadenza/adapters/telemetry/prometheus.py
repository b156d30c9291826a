"""Metrics for Prometheus, counted in plain numbers."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from cadenza.adapters.telemetry.metric_definitions import METRICS, MetricDefinition, MetricKind, metric_values
from cadenza.ports.telemetry import Measurements, Metadata

MOST_VALUES = 50
"""A label has at most so many values; the rest is counted as `other`."""
OTHER = "other"
Labels = tuple[str, ...]


class SchedulerMetrics(Collector):
    """Metrics of schedulers, the SLO watcher, alerts and supervision."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._values: defaultdict[str, dict[Labels, float]] = defaultdict(dict)
        self._buckets: defaultdict[str, dict[Labels, list[float]]] = defaultdict(dict)
        self._labels_cache: dict[tuple[object, ...], Labels] = {}
        self._label_values: defaultdict[str, set[str]] = defaultdict(set)
        take = {
            MetricKind.COUNTER: self._count,
            MetricKind.GAUGE: self._set,
            MetricKind.HISTOGRAM: self._observe,
        }
        self._take = {metric.name: take[metric.kind] for metric in METRICS}
        registry.register(self)

    def emit(self, event: str, measurements: Measurements, metadata: Metadata) -> None:
        """Count an event, if it changes a metric."""
        for metric, value, labels in metric_values(event, measurements, metadata):
            self._take[metric.name](metric, self._labels(metric, labels), value)

    def collect(self) -> Iterator[Metric]:
        """All metrics, as Prometheus reads them."""
        for metric in METRICS:
            yield self._histogram(metric) if metric.kind is MetricKind.HISTOGRAM else self._family(metric)

    def _family(self, metric: MetricDefinition) -> Metric:
        made = CounterMetricFamily if metric.kind is MetricKind.COUNTER else GaugeMetricFamily
        family = made(metric.name, metric.help, labels=metric.labels)
        for labels, value in self._values[metric.name].items():
            family.add_metric(labels, value)
        return family

    def _histogram(self, metric: MetricDefinition) -> Metric:
        family = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
        bounds = (*map(str, metric.bounds), "+Inf")
        for labels, (total, *buckets) in self._buckets[metric.name].items():
            family.add_metric(labels, list(zip(bounds, accumulate(buckets), strict=True)), total)
        return family

    def _count(self, metric: MetricDefinition, labels: Labels, amount: float) -> None:
        values = self._values[metric.name]
        values[labels] = values.get(labels, 0) + amount

    def _set(self, metric: MetricDefinition, labels: Labels, value: float) -> None:
        self._values[metric.name][labels] = value

    def _observe(self, metric: MetricDefinition, labels: Labels, milliseconds: float) -> None:
        seconds = milliseconds / 1_000
        found = self._buckets[metric.name].get(labels)
        if found is None:
            found = self._buckets[metric.name][labels] = [0.0] * (len(metric.bounds) + 2)
        found[0] += seconds
        found[1 + bisect_left(metric.bounds, seconds)] += 1

    def _labels(self, metric: MetricDefinition, metadata: Metadata) -> Labels:
        raw = (metric.name, *map(metadata.get, metric.labels))
        known = self._labels_cache.get(raw)
        if known is not None:
            return known
        labels = tuple([self._bounded(label, str(metadata.get(label, ""))) for label in metric.labels])
        if OTHER not in labels:
            self._labels_cache[raw] = labels
        return labels

    def _bounded(self, label: str, value: str) -> str:
        known = self._label_values[label]
        if value in known:
            return value
        if len(known) >= MOST_VALUES:
            return OTHER
        known.add(value)
        return value


ANALYSIS, FEED = "planner.sitting.stop", "planner.feed.stop"
SECONDS = (0.001, 0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class PlannerMetrics:
    """Metrics of planners."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._analyses = Counter(
            "cadenza_planner_sittings",
            "Analyses by planner and how they ended.",
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
            "How long analyses took.",
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
        """Count an event, if it is about planners."""
        if event == ANALYSIS:
            planner = str(metadata["planner"])
            self._analyses.labels(planner, str(metadata["result"])).inc()
            self._tokens.labels(planner).inc(measurements["tokens"])
            self._calls.labels(planner).inc(measurements["calls"])
            self._seconds.labels(planner).observe(measurements["duration_ms"] / 1_000)
        elif event == FEED:
            self._lag.set(measurements["lag_ms"] / 1_000)
            self._waiting.set(measurements["waiting"])
            self._passed_over.inc(measurements["passed_over"])
