"""A new endpoint's first moment, and an old one's new definition."""

from datetime import datetime

from cadenza.domain.baseline import Once
from cadenza.domain.endpoint import Endpoint, evolve
from cadenza.domain.governor import CronClock, plan_next_run
from cadenza.domain.plan import Source
from cadenza.domain.steer import Amended, replanned

DEFINED = ("name", "job_id", "description", "target", "baseline", "guard", "policy", "hint_mode")
"""What an owner writes; the rest is where the endpoint stands."""


def created(endpoint: Endpoint, *, now: datetime, cron: CronClock, start_now: bool = False) -> Endpoint:
    """A new endpoint with its first run planned, one interval away, or due at once."""
    plan = plan_next_run(now, endpoint, cron)
    if start_now and plan.source is not Source.PAUSED:
        return evolve(endpoint, next_run_at=now, next_source=Source.FIRST)
    return evolve(endpoint, next_run_at=plan.next_run_at, next_source=plan.source)


def defined_anew(before: Endpoint, after: Endpoint) -> bool:
    """Do the two differ in anything that an owner writes?"""
    return any(getattr(after, field) != getattr(before, field) for field in DEFINED)


def redefined(endpoint: Endpoint, wanted: Endpoint, *, now: datetime, cron: CronClock) -> Amended:
    """The endpoint as its owner wants it now; it goes on from where it stands, and is planned anew."""
    if not defined_anew(endpoint, wanted):
        return Amended(endpoint)
    changes = {field: getattr(wanted, field) for field in DEFINED}
    if isinstance(wanted.baseline, Once):
        changes["interval_hint"] = None
    return Amended(replanned(evolve(endpoint, **changes), now, cron))
