"""What would follow if nobody steered: an endpoint's next runs, one by one."""

from datetime import datetime
from typing import NamedTuple

from cadenza.domain.scheduling.due import opens_at
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import CronClock, plan_next_run
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.steer import held_by_quota, without_stale_hints


class Foreseen(NamedTuple):
    """A run to come, and what sets its moment."""

    at: datetime
    source: Source


def foreseen(endpoint: Endpoint, *, now: datetime, cron: CronClock, most: int) -> list[Foreseen]:
    """The next runs of an endpoint, at most so many.

    1. The stored next run comes first, when every gate is open; what is overdue runs now.
    2. Each run starts at its moment and takes no time; failures stay as many as they are.
    3. The governor plans each following one, with the hints that are fresh then.
    """
    found: list[Foreseen] = []
    standing = evolve(endpoint, lease=None)
    while len(found) < most and (moment := opens_at(standing)) is not None:
        at = max(moment, now)
        found.append(Foreseen(at, standing.next_source))
        standing = _after(standing, at, cron)
    return found


def _after(endpoint: Endpoint, at: datetime, cron: CronClock) -> Endpoint:
    ran = evolve(endpoint, last_run_at=at, open_slot=None)
    tidy, _ = without_stale_hints(ran, at)
    plan = plan_next_run(at, tidy, cron)
    return evolve(tidy, next_run_at=held_by_quota(tidy, plan.next_run_at), next_source=plan.source)
