"""Prometheus metrics of the process and its requests, by operation and status, never by tenant."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import accumulate

from prometheus_client import (
    CollectorRegistry,
    Gauge,
    GCCollector,
    Metric,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

MEDIA_TYPE = CONTENT_TYPE_PLAIN_0_0_4
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
BOUNDS = (*map(str, SECONDS), "+Inf")


class Requests(Collector):
    """Request counts as plain numbers in one thread: recording a request takes a microsecond."""

    def __init__(self) -> None:
        self._counts: defaultdict[tuple[str, int], int] = defaultdict(int)
        self._buckets: defaultdict[str, list[int]] = defaultdict(lambda: [0] * len(BOUNDS))
        self._sums: defaultdict[str, float] = defaultdict(float)

    def note(self, operation: str, status: int, seconds: float) -> None:
        """Count one request."""
        self._counts[operation, status] += 1
        self._buckets[operation][bisect_left(SECONDS, seconds)] += 1
        self._sums[operation] += seconds

    def collect(self) -> Iterator[Metric]:
        """The metrics for one scrape."""
        counts = CounterMetricFamily(
            "cadenza_requests", "Requests by operation and status.", labels=["operation", "status"]
        )
        for (operation, status), count in self._counts.items():
            counts.add_metric([operation, str(status)], count)
        seconds = HistogramMetricFamily(
            "cadenza_request_seconds", "How long requests took.", labels=["operation"]
        )
        for operation, buckets in self._buckets.items():
            upto = list(zip(BOUNDS, accumulate(buckets), strict=True))
            seconds.add_metric([operation], upto, self._sums[operation])
        yield counts
        yield seconds


class Metrics:
    """All metrics of a process."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        self._requests = Requests()
        self.registry.register(self._requests)
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)
        self._sockets = Gauge("cadenza_sockets", "Sockets of users.", registry=self.registry)
        self.note = self._requests.note

    def count_sockets(self, count: Callable[[], int]) -> None:
        """Report the number of open sockets; a restarted API replaces the function."""
        self._sockets.set_function(count)

    def to_text(self) -> bytes:
        """All metrics in the Prometheus text format."""
        return generate_latest(self.registry)
