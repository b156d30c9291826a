"""The first moment of a new endpoint."""

from datetime import datetime

from cadenza.domain.endpoint import Endpoint, evolve
from cadenza.domain.governor import CronClock, plan_next_run
from cadenza.domain.plan import Source


def created(endpoint: Endpoint, *, now: datetime, cron: CronClock, start_now: bool = False) -> Endpoint:
    """A new endpoint with its first run planned, one interval away, or due at once."""
    plan = plan_next_run(now, endpoint, cron)
    if start_now and plan.source is not Source.PAUSED:
        return evolve(endpoint, next_run_at=now, next_source=Source.FIRST)
    return evolve(endpoint, next_run_at=plan.next_run_at, next_source=plan.source)
