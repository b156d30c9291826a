"""Telemetry: the fields of every event, and the metrics that come of them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from tests.public_surface.events import observed
from tests.public_surface.internals import (
    Metrics,
    OtelMetrics,
    PlannerMetrics,
    SchedulerMetrics,
    telemetry,
)
from tests.public_surface.snapshot import Snapshot

from cadenza.testing.fakes import EmittedEvent

CODES = frozenset(
    {"cause", "change", "error_class", "kind", "resource", "result", "scheduler", "slo", "status", "trigger"}
)
"""Fields that hold one of a few words."""


async def collect_figures(into: Snapshot) -> None:
    events = await observed()
    missed = _declared() - {event.name for event in events}
    assert not missed, f"No scene in events.py emits {', '.join(sorted(missed))}."
    into.shape("telemetry", _described(events))
    prometheus, otel = _prometheus(events), _otel(events)
    into.both("metrics", {"prometheus": prometheus, "opentelemetry": otel})


def _declared() -> set[str]:
    return {value for name, value in vars(telemetry).items() if name.isupper() and isinstance(value, str)}


def _described(events: Iterable[EmittedEvent]) -> dict[str, Any]:
    """What each event carries; those of both schedulers have fields of their own for each."""
    by_name: defaultdict[str, list[EmittedEvent]] = defaultdict(list)
    for event in events:
        scheduler = event.metadata.get("scheduler") if event.name.startswith("sched.") else None
        by_name[event.name if scheduler is None else f"{event.name} ({scheduler})"].append(event)
    return {
        name: {
            "measurements": _fields([event.measurements for event in found]),
            "metadata": _fields([event.metadata for event in found]),
        }
        for name, found in by_name.items()
    }


def _fields(seen: list[Mapping[str, Any]]) -> dict[str, Any]:
    names = {name for one in seen for name in one}
    return {name: _field(name, [one[name] for one in seen if name in one], len(seen)) for name in names}


def _field(name: str, values: list[Any], events: int) -> dict[str, Any]:
    """The types of a field, whether every event has it, and the words that it may hold."""
    words = {"words": sorted({str(value) for value in values})} if name in CODES else {}
    return {"types": sorted({_type(value) for value in values}), "always": len(values) == events} | words


def _type(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return "none" if value is None else "bool"
    return "number" if isinstance(value, int | float) else "str"


def _prometheus(events: Iterable[EmittedEvent]) -> dict[str, Any]:
    """What a scrape shows once everything has happened; not what its library adds."""
    metrics = Metrics()
    metrics.note("list_jobs", 200, 0.01)
    listeners = (SchedulerMetrics(metrics.registry), PlannerMetrics(metrics.registry))
    for event in events:
        for listener in listeners:
            listener.emit(*event)
    found = [family for family in metrics.registry.collect() if family.name.startswith("cadenza")]
    return {family.name: _family(family) for family in found}


def _family(family: Any) -> dict[str, Any]:
    shown = [one for one in family.samples if not one.name.endswith("_created")]
    samples: defaultdict[str, set[str]] = defaultdict(set)
    for sample in shown:
        samples[sample.name].update(sample.labels)
    bounds = dict.fromkeys(sample.labels["le"] for sample in shown if "le" in sample.labels)
    return {
        "type": family.type,
        "samples": {name: sorted(labels) for name, labels in samples.items()},
        "bounds": list(bounds),
        "description": family.documentation,
    }


def _otel(events: Iterable[EmittedEvent]) -> dict[str, Any]:
    """The same for a collector of OpenTelemetry."""
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], shutdown_on_exit=False)
    figures = OtelMetrics(provider.get_meter("cadenza"))
    for event in events:
        figures.emit(*event)
    sent: Any = reader.get_metrics_data()
    provider.shutdown()
    (resource,) = sent.resource_metrics
    return {metric.name: _metric(metric) for scope in resource.scope_metrics for metric in scope.metrics}


def _metric(metric: Any) -> dict[str, Any]:
    points = list(metric.data.data_points)
    return {
        "type": type(metric.data).__name__,
        "unit": metric.unit,
        "attributes": sorted({name for point in points for name in point.attributes}),
        "bounds": list(getattr(points[0], "explicit_bounds", ())),
        "description": metric.description,
    }
