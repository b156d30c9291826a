"""A new endpoint's first moment, and an old one's new definition."""

from datetime import datetime

from cadenza.domain.scheduling.baseline import Once
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import CronClock, plan_next_run
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.steer import Amended, replanned

DEFINED = (
    "name",
    "job_id",
    "description",
    "target",
    "baseline",
    "guard",
    "policy",
    "hint_mode",
    "labels",
    "planning",
)
"""What an owner writes; the rest is where the endpoint stands."""
PLANNED_BY = ("baseline", "guard", "policy", "hint_mode")
"""What of it has a say in when the next run is."""


def created(endpoint: Endpoint, *, now: datetime, cron: CronClock, start_now: bool = False) -> Endpoint:
    """A new endpoint with its first run planned, one interval away, or due at once."""
    plan = plan_next_run(now, endpoint, cron)
    if start_now and plan.source is not Source.PAUSED:
        return evolve(endpoint, next_run_at=now, next_source=Source.FIRST)
    return evolve(endpoint, next_run_at=plan.next_run_at, next_source=plan.source)


def defined_anew(before: Endpoint, after: Endpoint, fields: tuple[str, ...] = DEFINED) -> bool:
    """Do the two differ in anything that an owner writes?"""
    return any(getattr(after, field) != getattr(before, field) for field in fields)


def redefined(endpoint: Endpoint, wanted: Endpoint, *, now: datetime, cron: CronClock) -> Amended:
    """The endpoint as its owner wants it now; it goes on from where it stands.

    It is planned anew only if its cadence changed: a new name moves no run.
    """
    if not defined_anew(endpoint, wanted):
        return Amended(endpoint)
    changes = {field: getattr(wanted, field) for field in DEFINED}
    if isinstance(wanted.baseline, Once):
        changes["interval_hint"] = None
    changed = evolve(endpoint, **changes)
    return Amended(replanned(changed, now, cron) if defined_anew(endpoint, wanted, PLANNED_BY) else changed)
