"""Figures for collectors of OpenTelemetry; its library is an extra, imported when it is asked for."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cadenza.adapters.telemetry.metric_definitions import SERIES, Kind, Series, points
from cadenza.domain.errors import Unavailable
from cadenza.ports.telemetry import Measurements, Metadata

if TYPE_CHECKING:  # It is an extra.
    from opentelemetry.metrics import Meter

LAST_WORDS_MS = 2_000
Record = Callable[[float, dict[str, str]], None]


class OtelFigures:
    """Records events with a meter."""

    def __init__(self, meter: "Meter") -> None:
        self._records = {series: _record(meter, series) for series in SERIES}

    def emit(self, event: str, measurements: Measurements, metadata: Metadata) -> None:
        """Record it, if it is known."""
        for series, value, told in points(event, measurements, metadata):
            beside = {name: str(told[name]) for name in series.labels if name in told}
            self._records[series](value, beside)


@contextmanager
def open_otel(endpoint: str, *, every_ms: int, process: str) -> Iterator[OtelFigures]:
    """Send figures to a collector every so often, and what is left in the end."""
    try:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter  # noqa: PLC0415
        from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader  # noqa: PLC0415
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    except ModuleNotFoundError:
        raise Unavailable("OpenTelemetry needs the extra: install cadenza[otel].") from None
    exporter = OTLPMetricExporter(f"{endpoint.rstrip('/')}/v1/metrics", timeout=LAST_WORDS_MS / 1_000)
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=every_ms)
    resource = Resource.create({"service.name": "cadenza", "service.instance.id": process})
    provider = MeterProvider([reader], resource, shutdown_on_exit=False)
    try:
        yield OtelFigures(provider.get_meter("cadenza"))
    finally:
        provider.shutdown(LAST_WORDS_MS)


def _record(meter: "Meter", series: Series) -> Record:
    match series.kind:
        case Kind.COUNTER:
            return meter.create_counter(series.otel, description=series.help).add
        case Kind.GAUGE:
            return meter.create_gauge(series.otel, description=series.help).set
        case Kind.HISTOGRAM:
            bounds = [bound * 1_000 for bound in series.bounds]
            return meter.create_histogram(
                series.otel, "ms", series.help, explicit_bucket_boundaries_advisory=bounds
            ).record
