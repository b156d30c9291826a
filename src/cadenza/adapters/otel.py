"""Figures for collectors of OpenTelemetry; its library is an extra, imported when it is asked for."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from cadenza.domain.errors import Unavailable
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

if TYPE_CHECKING:  # It is an extra.
    from opentelemetry.metrics import Meter

ATTRIBUTES = ("scheduler", "result", "error_class", "status", "late", "slo", "part", "kind")
"""What may stand beside a figure; whom it is about never does."""
LAST_WORDS_MS = 2_000
Record = Callable[[float, dict[str, str]], None]


class Figure(NamedTuple):
    """What one measurement of an event becomes; without a measurement, events are counted."""

    name: str
    measurement: str | None = None
    gauge: bool = False
    unit: str = "1"


FIGURES: dict[str, tuple[Figure, ...]] = {
    TICK: (Figure("cadenza.tick.duration", "duration_ms", unit="ms"),),
    JOB: (
        Figure("cadenza.job.duration", "duration_ms", unit="ms"),
        Figure("cadenza.job.lateness", "late_ms", unit="ms"),
    ),
    SKIPPED: (Figure("cadenza.jobs.skipped"),),
    DEPTH: (Figure("cadenza.queue.depth", "depth", gauge=True),),
    IN_FLIGHT: (Figure("cadenza.in_flight", "in_flight", gauge=True),),
    FINALIZE: (Figure("cadenza.finalized"),),
    SLO_CHANGED: (Figure("cadenza.slo.breached", "breached", gauge=True),),
    PART_CRASHED: (Figure("cadenza.part.crashes"),),
    ALERT: (Figure("cadenza.alerts"),),
}


class OtelFigures:
    """Records events with a meter."""

    def __init__(self, meter: "Meter") -> None:
        self._records = {
            event: [(figure.measurement, _record(meter, figure)) for figure in figures]
            for event, figures in FIGURES.items()
        }

    def emit(self, event: str, measurements: Measurements, metadata: Metadata) -> None:
        """Record it, if it is known."""
        records = self._records.get(event)
        if records is None:
            return
        beside = {name: str(metadata[name]) for name in ATTRIBUTES if name in metadata}
        for measurement, record in records:
            if measurement is None:
                record(1, beside)
            elif measurement in measurements:
                record(measurements[measurement], beside)


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


def _record(meter: "Meter", figure: Figure) -> Record:
    if figure.gauge:
        return meter.create_gauge(figure.name, figure.unit).set
    if figure.measurement is not None:
        return meter.create_histogram(figure.name, figure.unit).record
    return meter.create_counter(figure.name, figure.unit).add
