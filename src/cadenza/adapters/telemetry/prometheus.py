"""Figures about the schedulers for Prometheus, counted in plain numbers. No tenants, users or endpoints."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from cadenza.adapters.telemetry.metric_definitions import SERIES, Kind, Series, points
from cadenza.ports.telemetry import Measurements, Metadata

MOST_VALUES = 50
"""A label has no more values than this, whoever emits what; the rest is `other`."""
OTHER = "other"
Labels = tuple[str, ...]


class SchedulerMetrics(Collector):
    """Counts what schedulers, the SLO watcher, alerts and supervision tell."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._values: defaultdict[str, dict[Labels, float]] = defaultdict(dict)
        self._buckets: defaultdict[str, dict[Labels, list[float]]] = defaultdict(dict)
        self._places: dict[tuple[object, ...], Labels] = {}
        self._known: defaultdict[str, set[str]] = defaultdict(set)
        take = {Kind.COUNTER: self._count, Kind.GAUGE: self._set, Kind.HISTOGRAM: self._observe}
        self._take = {series.name: take[series.kind] for series in SERIES}
        registry.register(self)

    def emit(self, event: str, measurements: Measurements, metadata: Metadata) -> None:
        """Count it, if it is known."""
        for series, value, told in points(event, measurements, metadata):
            self._take[series.name](series, self._labels(series, told), value)

    def collect(self) -> Iterator[Metric]:
        """What Prometheus asks for."""
        for series in SERIES:
            yield self._histogram(series) if series.kind is Kind.HISTOGRAM else self._family(series)

    def _family(self, series: Series) -> Metric:
        made = CounterMetricFamily if series.kind is Kind.COUNTER else GaugeMetricFamily
        family = made(series.name, series.help, labels=series.labels)
        for labels, value in self._values[series.name].items():
            family.add_metric(labels, value)
        return family

    def _histogram(self, series: Series) -> Metric:
        family = HistogramMetricFamily(series.name, series.help, labels=series.labels)
        bounds = (*map(str, series.bounds), "+Inf")
        for labels, (total, *buckets) in self._buckets[series.name].items():
            family.add_metric(labels, list(zip(bounds, accumulate(buckets), strict=True)), total)
        return family

    def _count(self, series: Series, labels: Labels, amount: float) -> None:
        values = self._values[series.name]
        values[labels] = values.get(labels, 0) + amount

    def _set(self, series: Series, labels: Labels, value: float) -> None:
        self._values[series.name][labels] = value

    def _observe(self, series: Series, labels: Labels, milliseconds: float) -> None:
        seconds = milliseconds / 1_000
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
