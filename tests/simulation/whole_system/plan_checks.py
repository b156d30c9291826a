"""Hints are honoured: what is planned when a slot is over is what the hints, the guard and the pause say."""

from datetime import datetime

from tests.simulation.whole_system.application_parts import CRON

from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.governor import plan_next_run
from cadenza.domain.scheduling.nudge import not_before_quota
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.domain.scheduling.settle import given_up

PLANNED = frozenset({RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.TIMEOUT})
"""What ends a slot so that the next one is planned; the others wait, or were moved by somebody."""


def plan_violation(after: Endpoint, run: Run, now: datetime) -> str | None:
    """What is wrong with the next run of an endpoint whose run was settled now; None if it is right."""
    if not run.verdict or run.status not in PLANNED or after.open_slot is not None or given_up(after):
        return None
    planned = not_before_quota(after, plan_next_run(now, after, CRON).next_run_at)
    if after.next_run_at == planned:
        return None
    return f"is planned for {after.next_run_at}, and its hints, guard and pause say {planned}"
