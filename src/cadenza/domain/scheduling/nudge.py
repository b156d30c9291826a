"""Nudge: move the next run earlier. Relax: let a hint move it later."""

from datetime import datetime
from typing import NamedTuple

from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import CronClock, plan_next_run
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.validation import milliseconds


class Nudge(NamedTuple):
    """What a nudge asked for, and whether it moved anything."""

    before: datetime | None
    candidate: datetime
    applied: bool


def nudge(endpoint: Endpoint, now: datetime, when: datetime, source: Source) -> tuple[Endpoint, Nudge]:
    """Move the next run earlier.

    1. A pause ignores it, and so does what is retired.
    2. The guard, counted from now, bounds it; a closed quota holds it until it opens.
    3. It applies only if earlier than what is stored.
    """
    before = endpoint.next_run_at
    if endpoint.paused(now) or endpoint.retired:
        return endpoint, Nudge(before, when, applied=False)
    candidate, source = _bounded(endpoint, now, when, source)
    if before is not None and candidate >= before:
        return endpoint, Nudge(before, candidate, applied=False)
    moved = evolve(endpoint, next_run_at=candidate, next_source=source)
    return moved, Nudge(before, candidate, applied=True)


def relax(endpoint: Endpoint, now: datetime, cron: CronClock) -> Endpoint:
    """Follow the plan when it is later than what is stored, but never take back what is due or claimed."""
    stored = endpoint.next_run_at
    if stored is None or stored <= now or endpoint.lease or endpoint.open_slot:
        return endpoint
    plan = plan_next_run(now, endpoint, cron)
    if plan.next_run_at is None or plan.next_run_at <= stored:
        return endpoint
    return evolve(endpoint, next_run_at=plan.next_run_at, next_source=plan.source)


def _bounded(endpoint: Endpoint, now: datetime, when: datetime, source: Source) -> tuple[datetime, Source]:
    guard = endpoint.effective_guard
    if guard.min_interval_ms is not None and when < now + milliseconds(guard.min_interval_ms):
        when, source = now + milliseconds(guard.min_interval_ms), Source.CLAMPED_MIN
    if guard.max_interval_ms is not None and when > now + milliseconds(guard.max_interval_ms):
        when, source = now + milliseconds(guard.max_interval_ms), Source.CLAMPED_MAX
    when = max(when, now)
    if endpoint.quota_opens_at is not None and when < endpoint.quota_opens_at:
        return endpoint.quota_opens_at, Source.QUOTA
    return when, source
