"""Hints are honoured: what is planned when a slot is over is what the hints, the guard and the pause say."""

from datetime import datetime

from tests.simulation.whole_system.application_parts import CRON

from cadenza.domain.scheduling.abandon import given_up
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.governor import plan_next_run
from cadenza.domain.scheduling.nudge import not_before_quota
from cadenza.domain.scheduling.plan import RunKind
from cadenza.domain.scheduling.run import Run, RunStatus

PLANNED = frozenset({RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.TIMEOUT})
"""What ends a slot so that the next one is planned; the others wait, or were moved by somebody."""


def schedule_violation(before: Endpoint, after: Endpoint, run: Run, now: datetime) -> str | None:
    """What a requested run has changed of the schedule that it ran beside; None if that is right.

    The next run stays, not before the guard allows it; a slot that had come due stays the same slot.
    """
    if run.kind is RunKind.SCHEDULED or given_up(after) or before.next_run_at is None:
        return None
    had = before.next_run_at if before.open_slot is None else before.open_slot.slot
    has = after.next_run_at if after.open_slot is None else after.open_slot.slot
    guarded = after.effective_guard.min_interval_ms is not None and had > now
    if has == had or (guarded and has is not None and has > had):
        return None
    return f"has its slot {had} moved to {has} by a run that was requested"


def plan_violation(after: Endpoint, run: Run, now: datetime) -> str | None:
    """What is wrong with the next run of an endpoint whose run was settled now; None if it is right."""
    if not run.verdict or run.status not in PLANNED or after.open_slot is not None or given_up(after):
        return None
    planned = not_before_quota(after, plan_next_run(now, after, CRON).next_run_at)
    if after.next_run_at == planned:
        return None
    return f"is planned for {after.next_run_at}, and its hints, guard and pause say {planned}"
