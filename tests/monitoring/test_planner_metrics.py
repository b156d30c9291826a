"""Figures about planners, without endpoints or tenants in them."""

from prometheus_client import CollectorRegistry

from cadenza.adapters.telemetry.event_bus import RunEndedWakeup
from cadenza.adapters.telemetry.prometheus import PlannerMetrics


def test_analyses_tokens_and_calls_are_counted_by_planner() -> None:
    registry = CollectorRegistry()
    metrics = PlannerMetrics(registry)
    for result in ("done", "error", "done"):
        measured = {"duration_ms": 250.0, "tokens": 100.0, "calls": 2.0}
        about = {"planner": "llm", "trigger": "run", "result": result}
        metrics.emit("planner.sitting.stop", measured, about)
    read = registry.get_sample_value
    assert read("cadenza_planner_sittings_total", {"planner": "llm", "result": "done"}) == 2
    assert read("cadenza_planner_sittings_total", {"planner": "llm", "result": "error"}) == 1
    assert read("cadenza_planner_tokens_total", {"planner": "llm"}) == 300
    assert read("cadenza_planner_calls_total", {"planner": "llm"}) == 6
    assert read("cadenza_planner_sitting_seconds_sum", {"planner": "llm"}) == 0.75


def test_how_far_behind_they_are_is_told() -> None:
    registry = CollectorRegistry()
    metrics = PlannerMetrics(registry)
    measured = {"runs": 5.0, "lag_ms": 1_500.0, "waiting": 7.0, "passed_over": 3.0}
    metrics.emit("planner.feed.stop", measured, {})
    metrics.emit("sched.job.stop", {"duration_ms": 1.0}, {"result": "success"})
    assert registry.get_sample_value("cadenza_planner_lag_seconds") == 1.5
    assert registry.get_sample_value("cadenza_planner_waiting") == 7
    assert registry.get_sample_value("cadenza_planner_passed_over_total") == 3


def test_a_run_subscription_is_notified_of_runs_alone() -> None:
    wakeup = RunEndedWakeup()
    wakeup.emit("sched.tick.stop", {}, {})
    assert not wakeup._event.is_set()
    wakeup.emit("sched.job.stop", {}, {})
    assert wakeup._event.is_set()
