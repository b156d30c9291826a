"""Metrics for OpenTelemetry; its library is an extra, imported only when it is configured."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cadenza.adapters.telemetry.metric_definitions import METRICS, MetricDefinition, MetricKind, metric_values
from cadenza.domain.errors import Unavailable
from cadenza.ports.telemetry import Measurements, Metadata

if TYPE_CHECKING:  # It is an extra.
    from opentelemetry.metrics import Meter

SHUTDOWN_TIMEOUT_MS = 2_000
Record = Callable[[float, dict[str, str]], None]


class OtelMetrics:
    """Records events as metrics of a meter."""

    def __init__(self, meter: "Meter") -> None:
        self._records = {metric: _record(meter, metric) for metric in METRICS}

    def emit(self, event: str, measurements: Measurements, metadata: Metadata) -> None:
        """Record an event, if it changes a metric."""
        for metric, value, labels in metric_values(event, measurements, metadata):
            attributes = {name: str(labels[name]) for name in metric.labels if name in labels}
            self._records[metric](value, attributes)


@contextmanager
def open_otel(endpoint: str, *, every_ms: int, process: str) -> Iterator[OtelMetrics]:
    """Send metrics to a collector at an interval, and once more at the end."""
    try:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter  # noqa: PLC0415
        from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader  # noqa: PLC0415
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    except ModuleNotFoundError:
        raise Unavailable("OpenTelemetry takes the extra otel, which is not installed.") from None
    exporter = OTLPMetricExporter(f"{endpoint.rstrip('/')}/v1/metrics", timeout=SHUTDOWN_TIMEOUT_MS / 1_000)
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=every_ms)
    resource = Resource.create({"service.name": "cadenza", "service.instance.id": process})
    provider = MeterProvider([reader], resource, shutdown_on_exit=False)
    try:
        yield OtelMetrics(provider.get_meter("cadenza"))
    finally:
        provider.shutdown(SHUTDOWN_TIMEOUT_MS)


def _record(meter: "Meter", metric: MetricDefinition) -> Record:
    match metric.kind:
        case MetricKind.COUNTER:
            return meter.create_counter(metric.otel, description=metric.help).add
        case MetricKind.GAUGE:
            return meter.create_gauge(metric.otel, description=metric.help).set
        case MetricKind.HISTOGRAM:
            bounds = [bound * 1_000 for bound in metric.bounds]
            return meter.create_histogram(
                metric.otel, "ms", metric.help, explicit_bucket_boundaries_advisory=bounds
            ).record
