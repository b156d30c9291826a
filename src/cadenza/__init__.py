"""Cadenza: a scheduler that keeps time and knows when to improvise."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # The rules cost no database and no HTTP client, and the program begins at once.
    from cadenza.adapters.telemetry.event_bus import EventBus
    from cadenza.domain.job_failure import ErrorClass, JobFailed
    from cadenza.domain.scheduling.baseline import Cron, Every, Once
    from cadenza.domain.scheduling.endpoint import Endpoint
    from cadenza.domain.scheduling.governor import plan_next_run
    from cadenza.domain.scheduling.hint import IntervalHint, OneShotHint
    from cadenza.domain.scheduling.plan import Plan
    from cadenza.domain.scheduling.policy import Guard
    from cadenza.domain.scheduling.target import HttpTarget
    from cadenza.roots.embedding.app import Cadenza
    from cadenza.roots.embedding.functions import RunContext

LOADED_WHEN_ASKED = {
    "Cadenza": "cadenza.roots.embedding.app",
    "Cron": "cadenza.domain.scheduling.baseline",
    "Endpoint": "cadenza.domain.scheduling.endpoint",
    "ErrorClass": "cadenza.domain.job_failure",
    "EventBus": "cadenza.adapters.telemetry.event_bus",
    "Every": "cadenza.domain.scheduling.baseline",
    "Guard": "cadenza.domain.scheduling.policy",
    "HttpTarget": "cadenza.domain.scheduling.target",
    "IntervalHint": "cadenza.domain.scheduling.hint",
    "JobFailed": "cadenza.domain.job_failure",
    "Once": "cadenza.domain.scheduling.baseline",
    "OneShotHint": "cadenza.domain.scheduling.hint",
    "Plan": "cadenza.domain.scheduling.plan",
    "RunContext": "cadenza.roots.embedding.functions",
    "plan_next_run": "cadenza.domain.scheduling.governor",
}

__all__ = [
    "Cadenza",
    "Cron",
    "Endpoint",
    "ErrorClass",
    "EventBus",
    "Every",
    "Guard",
    "HttpTarget",
    "IntervalHint",
    "JobFailed",
    "Once",
    "OneShotHint",
    "Plan",
    "RunContext",
    "plan_next_run",
]


def __getattr__(name: str) -> Any:
    if name in LOADED_WHEN_ASKED:
        return getattr(import_module(LOADED_WHEN_ASKED[name]), name)
    raise AttributeError(f"cadenza has no {name}")
