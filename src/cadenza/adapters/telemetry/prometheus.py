"""Figures about the schedulers for Prometheus, counted in plain numbers. No tenants, users or endpoints."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry, Metric
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
