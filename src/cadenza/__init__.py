"""Cadenza: a scheduler that keeps time and knows when to improvise."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cadenza.domain.job_failure import ErrorClass, JobFailed
from cadenza.domain.scheduling.baseline import Cron, Every, Once
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.governor import plan_next_run
from cadenza.domain.scheduling.hint import IntervalHint, OneShotHint
from cadenza.domain.scheduling.plan import Plan
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.target import HttpTarget

if TYPE_CHECKING:  # The rules alone cost no database and no HTTP client.
    from cadenza.adapters.telemetry.event_bus import EventBus
    from cadenza.roots.embedding import Cadenza
    from cadenza.roots.wiring.functions import RunContext

LOADED_WHEN_ASKED = {
    "Cadenza": "cadenza.roots.embedding",
    "EventBus": "cadenza.adapters.telemetry.event_bus",
    "RunContext": "cadenza.roots.wiring.functions",
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
