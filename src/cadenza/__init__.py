"""Cadenza: a scheduler that keeps time and knows when to improvise."""

from cadenza.domain.baseline import Cron, Every, Once
from cadenza.domain.endpoint import Endpoint
from cadenza.domain.governor import plan_next_run
from cadenza.domain.hint import IntervalHint, OneShotHint
from cadenza.domain.plan import Plan
from cadenza.domain.policy import Guard

__all__ = [
    "Cron",
    "Endpoint",
    "Every",
    "Guard",
    "IntervalHint",
    "Once",
    "OneShotHint",
    "Plan",
    "plan_next_run",
]
