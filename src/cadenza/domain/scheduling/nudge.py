"""Nudge: move the next run earlier. Relax: let a hint move it later. Spread: keep starts apart.

After a clock was set back: move what lies ahead because of it. After something was switched on again: plan
from now what was missed meanwhile.
"""

from datetime import datetime, timedelta
from typing import NamedTuple
from zlib import crc32

from cadenza.domain.scheduling.baseline import Cron, Every, Once, cadence_at
from cadenza.domain.scheduling.calendars.gate import RUN_AT_END, first_open, why_not_open
from cadenza.domain.scheduling.calendars.rules import NO_RULES
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import CronClock, following_fire, plan_next_run
from cadenza.domain.scheduling.plan import Plan, Source
from cadenza.domain.validation import iso, milliseconds

SHARED = frozenset({Source.FIRST, Source.RESUME, Source.PAUSED})
"""What sets the same moment for many endpoints: a start, a resume, the end of a pause."""
INTERVAL_PARTS = 10
"""An endpoint with an interval is delayed by at most this part of it."""
HASHES = 2**32
FROM_THE_CLOCK = frozenset(
    {
        Source.BASELINE_CRON,
        Source.BASELINE_INTERVAL,
        Source.AI_INTERVAL,
        Source.CLAMPED_MIN,
        Source.CLAMPED_MAX,
        Source.FIRST,
        Source.RESUME,
        Source.RETRY,
        Source.CLOSED,
    }
)
"""Sources of moments that were counted from the present; the others name a moment."""
STEP_TOLERANCE = timedelta(seconds=5)
"""How exactly the length of a clock's step is known."""
KEPT_SOURCES = frozenset({Source.CLOSED, Source.FINISHED})
"""What calendars planned so stays so when it is resumed: nothing runs then."""
ASKED_FOR = frozenset({Source.FIRST, Source.MANUAL})
"""Sources of runs that somebody asked for, and that no plan would bring back."""


class Nudge(NamedTuple):
    """What a nudge asked for, and whether it moved anything."""

    before: datetime | None
    candidate: datetime
    applied: bool
    closed: str | None = None
    """The calendar for which it was ignored, in words."""

    @property
    def note(self) -> str | None:
        """What the caller should know of a nudge that was ignored for a calendar."""
        if self.closed is None:
            return None
        return f"The next run stays as it is: nothing runs at {iso(self.candidate)} ({self.closed})."


def nudge(endpoint: Endpoint, now: datetime, when: datetime, source: Source) -> tuple[Endpoint, Nudge]:
    """Move the next run earlier.

    1. A pause ignores it, and so does what is retired.
    2. The guard, counted from now, bounds it; a closed quota holds it until it opens.
    3. Into a moment at which its calendars are closed it is ignored; what runs at the end moves to the
       opening instead.
    4. It applies only if earlier than what is stored.
    """
    before = endpoint.next_run_at
    if endpoint.paused(now) or endpoint.retired:
        return endpoint, Nudge(before, when, applied=False)
    candidate, source = _bounded(endpoint, now, when, source)
    rules = endpoint.calendar_rules
    if rules is not NO_RULES and (closed := why_not_open(rules, candidate)) is not None:
        opening = first_open(rules, candidate)
        if opening is None or rules.when_closed is not RUN_AT_END:
            return endpoint, Nudge(before, candidate, applied=False, closed=closed)
        candidate, source = opening, Source.CALENDAR
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


def after_clock_step(endpoint: Endpoint, *, now: datetime, step: timedelta, cron: CronClock) -> Endpoint:
    """Plan anew what lies ahead only because the clock was set back by `step`.

    1. A moment that somebody named stays, and so do a pause, a quota and what runs once.
    2. Runs that lie ahead were before now; planning starts there.
    3. A cron line whose fires are further apart than the step keeps its moment: the one before was served.
    """
    stored = endpoint.next_run_at
    if stored is None or stored <= now or endpoint.next_source not in FROM_THE_CLOCK:
        return endpoint
    if endpoint.next_source is Source.RETRY:
        at, source = max(now, stored - step), Source.RETRY
    else:
        at, source = _planned_before_step(endpoint, now=now, step=step, cron=cron) or (stored, Source.FIRST)
    if at >= stored:
        return endpoint
    return evolve(endpoint, next_run_at=at, next_source=source)


def _planned_before_step(
    endpoint: Endpoint, *, now: datetime, step: timedelta, cron: CronClock
) -> tuple[datetime, Source] | None:
    if type(endpoint.baseline) is Once:
        return None
    last, skipped = (
        moment - step if moment is not None and moment > now else moment
        for moment in (endpoint.last_run_at, endpoint.skipped_at)
    )
    moved = evolve(endpoint, last_run_at=last, skipped_at=skipped, one_shot_hint=None)
    at, source, _ = plan_next_run(now, moved, cron)
    if at is None or source is Source.PAUSED:
        return None
    is_closed_fire = source is Source.CLOSED and isinstance(cadence_at(endpoint.baseline, at), Cron)
    if source is Source.BASELINE_CRON or is_closed_fire:
        following = following_fire(at, at, endpoint, cron)
        return None if following is None or following - at > step + STEP_TOLERANCE else (at, source)
    return at, source


def spread(endpoint: Endpoint, jitter_ms: int) -> Endpoint:
    """The endpoint, just planned, with an offset of its own where many would be given the same moment.

    1. That is a start, a resume, the end of a pause, and the first run of an interval.
    2. What runs once, a one-shot and a retry keep their moment; cron lines keep theirs, too, since it is
       their slot: the worker delays their start.
    """
    moment, source = endpoint.next_run_at, endpoint.next_source
    is_first = source is Source.BASELINE_INTERVAL and not endpoint.has_history
    if moment is None or not (is_first or source in SHARED) or keeps_its_moment(endpoint, moment):
        return endpoint
    return evolve(endpoint, next_run_at=moment + offset_of(endpoint, moment, jitter_ms))


def plan_from_now(endpoint: Endpoint, now: datetime, cron: CronClock, jitter_ms: int = 0) -> Endpoint:
    """The endpoint that may run again, with a fresh plan; a slot that waits for a retry runs at once."""
    if endpoint.open_slot is not None:
        return evolve(endpoint, next_run_at=earliest_run(endpoint, now), next_source=Source.RESUME)
    plan = unserved_plan(now, endpoint, cron)
    in_calendars = endpoint.calendar_rules is not NO_RULES
    source = plan.source if in_calendars and plan.source in KEPT_SOURCES else Source.RESUME
    moment = not_before_quota(endpoint, plan.next_run_at)
    return spread(evolve(endpoint, next_run_at=moment, next_source=source), jitter_ms)


def replan(endpoint: Endpoint, now: datetime, cron: CronClock, jitter_ms: int = 0) -> Endpoint:
    """The endpoint with a fresh plan, unless its next run is due, claimed or a retry, or it is retired."""
    stored = endpoint.next_run_at
    is_due = stored is not None and stored <= now
    if endpoint.lease or endpoint.open_slot or is_due or endpoint.retired:
        return endpoint
    plan = unserved_plan(now, endpoint, cron)
    moment = not_before_quota(endpoint, plan.next_run_at)
    return spread(evolve(endpoint, next_run_at=moment, next_source=plan.source), jitter_ms)


def unserved_plan(now: datetime, endpoint: Endpoint, cron: CronClock) -> Plan:
    """The plan by another clock than that of the last run.

    1. A fire of a cron line that a worker whose clock is ahead has served already gives way to the next.
    2. A last run that lies behind that one, too, says nothing: its clock was wrong.
    """
    plan, last = plan_next_run(now, endpoint, cron), endpoint.anchor(now)
    fire = plan.next_run_at
    if fire is None or plan.source is not Source.BASELINE_CRON or fire > last:
        return plan
    following = following_fire(fire, last, endpoint, cron)
    if following is None or following <= last:
        return plan
    if endpoint.calendar_rules is not NO_RULES:
        return plan_next_run(fire, endpoint, cron)
    return plan._replace(next_run_at=following)


def plan_if_switched_on(
    before: Endpoint, after: Endpoint, *, now: datetime, cron: CronClock, jitter_ms: int = 0
) -> Endpoint:
    """The endpoint as it will be; if that switches it on, by itself or with its job, no run of it is late.

    1. What was missed meanwhile is planned from now, as after a pause.
    2. A first run, or one that somebody asked for, comes at once.
    3. What lies ahead, is paused or in flight keeps its moment.
    """
    moment = after.next_run_at
    is_missed = moment is not None and moment <= now and not (after.lease or after.paused(now))
    if not is_missed or before.switched_on or not after.switched_on:
        return after
    if after.next_source in ASKED_FOR and after.open_slot is None:
        at_once = not_before_quota(after, earliest_run(after, now))
        return spread(evolve(after, next_run_at=at_once), jitter_ms)
    return plan_from_now(after, now, cron, jitter_ms)


def keeps_its_moment(endpoint: Endpoint, moment: datetime) -> bool:
    """Is it somebody's own choice that it runs at this very moment?"""
    hint = endpoint.one_shot_hint
    is_one_shot = hint is not None and hint.at == moment
    return is_one_shot or endpoint.open_slot is not None or type(endpoint.baseline) is Once


def offset_of(endpoint: Endpoint, moment: datetime, most_ms: int) -> timedelta:
    """Its part of the longest delay, always the same: at most a tenth of the interval at which it runs."""
    hint, longest = endpoint.interval_hint, milliseconds(most_ms)
    cadence = cadence_at(endpoint.baseline, moment)
    if isinstance(cadence, Every):
        longest = min(longest, milliseconds(cadence.interval_ms) / INTERVAL_PARTS)
    if hint is not None and hint.fresh(moment):
        longest = min(longest, milliseconds(hint.interval_ms) / INTERVAL_PARTS)
    return longest * crc32("/".join(endpoint.key).encode()) / HASHES


def earliest_run(endpoint: Endpoint, now: datetime) -> datetime:
    """The first moment at which the guard lets it run."""
    least = endpoint.effective_guard.min_interval_ms
    if least is None or endpoint.last_run_at is None:
        return now
    return max(now, endpoint.last_run_at + milliseconds(least))


def not_before_quota(endpoint: Endpoint, moment: datetime | None) -> datetime | None:
    """A moment, not before the quota opens."""
    if moment is None or endpoint.quota_opens_at is None:
        return moment
    return max(moment, endpoint.quota_opens_at)


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
