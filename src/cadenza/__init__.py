"""Cadenza: a scheduler that keeps time and knows when to improvise."""

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
    from cadenza.roots.embedding import Cadenza

__all__ = [
    "Cadenza",
    "Cron",
    "Endpoint",
    "ErrorClass",
    "Every",
    "Guard",
    "HttpTarget",
    "IntervalHint",
    "JobFailed",
    "Once",
    "OneShotHint",
    "Plan",
    "plan_next_run",
]


def __getattr__(name: str) -> Any:
    if name == "Cadenza":
        from cadenza.roots.embedding import Cadenza  # noqa: PLC0415 - as above

        return Cadenza
    raise AttributeError(f"cadenza has no {name}")
