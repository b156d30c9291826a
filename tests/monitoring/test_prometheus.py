"""Figures for Prometheus: what is exposed, without names of people, and a dashboard that uses only that."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from cadenza.adapters.telemetry.prometheus import MOST_VALUES, PlannerMetrics, SchedulerMetrics
from cadenza.surfaces.http.metrics import Metrics

DASHBOARD = Path(__file__).parents[2] / "deploy" / "grafana" / "cadenza.json"
NAME = re.compile(r"\b(?:cadenza|process)_[a-z_]+\b")
MATCHER = re.compile(r"\{([^}]*)\}")
BY = re.compile(r"\bby \(([^)]*)\)")
OTHERS = frozenset({"le", "instance"})


def everything() -> CollectorRegistry:
    """The registry of a process in which everything has happened once."""
    metrics = Metrics()
    scheduler, planner = SchedulerMetrics(metrics.registry), PlannerMetrics(metrics.registry)
    metrics.note("list_jobs", 200, 0.01)
    daily: dict[str, Any] = {"scheduler": "daily"}
    ticked = {"users_scanned": 9, "eligible_in_window": 7, "enqueued": 3, "cutoff_finalized": 1}
    finalized: dict[str, Any] = {
        "status": "cutoff_reached",
        "late": False,
        "due_bucket": 540,
        "today": "2025-01-01",
    }
    scheduler.emit("sched.tick.stop", {"duration_ms": 250}, {**daily, **ticked})
    scheduler.emit("sched.tick.stop", {"duration_ms": 2}, {"scheduler": "endpoints", "claimed": 5})
    scheduler.emit("sched.queue.depth", {"depth": 12}, daily)
    scheduler.emit(
        "sched.executor.in_flight", {"in_flight": 3}, daily | {"max_concurrency": 8, "full_tenants": 1}
    )
    scheduler.emit("sched.job.stop", {"duration_ms": 1_200, "late_ms": 40}, {**daily, "result": "ok"})
    failed = {**daily, "result": "error", "error_class": "req"}
    scheduler.emit("sched.job.stop", {"duration_ms": 10}, failed)
    scheduler.emit("sched.job.skip", {}, {**daily, "status": "skipped"})
    scheduler.emit("sched.finalize", {"days": 1}, {**daily, **finalized})
    scheduler.emit("slo.changed", {"breached": 1.0}, {**daily, "slo": "tick_budget"})
    scheduler.emit("process.part.crash", {"crashes": 1}, {"part": "upkeep"})
    scheduler.emit("endpoint.suspected", {}, {"scheduler": "endpoints", "trial": "alone"})
    scheduler.emit("endpoint.paused", {}, {"scheduler": "endpoints", "endpoint_id": "culprit"})
    scheduler.emit("alert.stop", {"attempt": 1}, {"kind": "slo", "result": "sent"})
    scheduler.emit("channel.stop", {"attempt": 1}, {"channel": "webhook", "result": "sent"})
    about = {"planner": "rules", "trigger": "run", "result": "done"}
    planner.emit("planner.sitting.stop", {"duration_ms": 5, "tokens": 7, "calls": 1}, about)
    planner.emit("planner.feed.stop", {"runs": 1, "lag_ms": 3, "waiting": 1, "passed_over": 0}, {})
    return metrics.registry


@pytest.fixture(scope="module")
def exposed() -> dict[str, set[str]]:
    """Every name that a scrape of `/metrics` shows, with the labels it carries."""
    names: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(generate_latest(everything()).decode()):
        for sample in family.samples:
            names.setdefault(sample.name, set()).update(sample.labels)
    return names


def value(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    return registry.get_sample_value(name, labels)


def test_events_become_figures() -> None:
    registry = everything()
    daily = {"scheduler": "daily"}
    assert value(registry, "cadenza_tick_seconds_sum", **daily) == 0.25
    assert value(registry, "cadenza_tick_seconds_bucket", **daily, le="0.2") == 0
    assert value(registry, "cadenza_tick_seconds_bucket", **daily, le="0.3") == 1
    assert value(registry, "cadenza_tick_work_total", **daily, kind="users_scanned") == 9
    assert value(registry, "cadenza_tick_work_total", scheduler="endpoints", kind="claimed") == 5
    assert value(registry, "cadenza_eligible_in_window", **daily) == 7
    assert value(registry, "cadenza_queue_depth", **daily) == 12
    assert value(registry, "cadenza_in_flight", **daily) == 3
    assert value(registry, "cadenza_max_concurrency", **daily) == 8
    assert value(registry, "cadenza_job_seconds_count", **daily, result="ok") == 1
    assert value(registry, "cadenza_job_errors_total", **daily, error_class="req") == 1
    assert value(registry, "cadenza_finalized_total", status="cutoff_reached", late="False") == 1
    assert value(registry, "cadenza_slo_breached", **daily, slo="tick_budget") == 1
    assert value(registry, "cadenza_part_crashes_total", part="upkeep") == 1
    endpoints = {"scheduler": "endpoints"}
    assert value(registry, "cadenza_endpoints_suspected_total", **endpoints, trial="alone") == 1
    assert value(registry, "cadenza_endpoints_paused_total", **endpoints) == 1


def test_a_breach_that_is_over_is_no_longer_shown() -> None:
    registry = CollectorRegistry()
    metrics = SchedulerMetrics(registry)
    about = {"scheduler": "daily", "slo": "saturation", "process": "host/up"}
    metrics.emit("slo.changed", {"breached": 1.0}, about)
    metrics.emit("slo.changed", {"breached": 0.0}, about)
    labels = {"scheduler": "daily", "slo": "saturation"}
    assert registry.get_sample_value("cadenza_slo_breached", labels) == 0
    assert registry.get_sample_value("cadenza_slo_breaches_total", labels) == 1


def test_nobody_is_named_and_labels_are_bounded() -> None:
    registry = CollectorRegistry()
    metrics = SchedulerMetrics(registry)
    for number in range(1_000):
        told = {"scheduler": f"s{number}", "result": f"r{number}", "user_id": "ada", "tenant_id": "acme"}
        metrics.emit("sched.job.stop", {"duration_ms": 1}, told)
    written = generate_latest(registry).decode()
    assert "ada" not in written
    assert "acme" not in written
    assert written.count("cadenza_job_seconds_count{") <= MOST_VALUES + 1
    assert 'scheduler="other"' in written


def expressions() -> list[str]:
    dashboard = json.loads(DASHBOARD.read_text())
    return sorted({target["expr"] for panel in dashboard["panels"] for target in panel["targets"]})


@pytest.mark.parametrize("expression", expressions())
def test_the_dashboard_asks_for_what_is_exposed(expression: str, exposed: dict[str, set[str]]) -> None:
    names = NAME.findall(expression)
    assert names
    assert [name for name in names if name not in exposed] == []
    asked = [label.strip() for labels in BY.findall(expression) for label in labels.split(",")]
    asked += [part.split("=")[0].strip() for some in MATCHER.findall(expression) for part in some.split(",")]
    known = set().union(*(exposed[name] for name in names)) | OTHERS
    assert [label for label in asked if label not in known] == []


def test_the_dashboard_shows_every_figure_of_the_schedulers(exposed: dict[str, set[str]]) -> None:
    registry = CollectorRegistry()
    SchedulerMetrics(registry)
    families = {family.name for family in registry.collect()}
    shown = {name for expression in expressions() for name in NAME.findall(expression)}
    assert [name for name in sorted(families) if not any(one.startswith(name) for one in shown)] == []
