"""The plan of an endpoint with calendars, a start or an end, made from its plan without them."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from cadenza.domain.scheduling.baseline import Every, Once, cadence_at
from cadenza.domain.scheduling.calendars.day_part_planning import INSTANT
from cadenza.domain.scheduling.calendars.gate import RUN_AT_END, first_open
from cadenza.domain.scheduling.calendars.rules import NO_RULES
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.plan import Candidate, Plan, Source
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.target import CallableTarget, HeartbeatTarget
from cadenza.domain.validation import milliseconds

if TYPE_CHECKING:  # The governor asks this module.
    from cadenza.domain.scheduling.governor import CronClock

NO_GRACE = timedelta(0)
PAUSED, CLOSED, CALENDAR, BASELINE_CRON = Source.PAUSED, Source.CLOSED, Source.CALENDAR, Source.BASELINE_CRON
Planner = Callable[[datetime, Endpoint, "CronClock"], Plan]
"""Plans an endpoint without calendars."""


def plan_in_calendars(now: datetime, endpoint: Endpoint, cron: "CronClock", plan: Planner) -> Plan:
    """The plan of an endpoint without its calendars, kept to them.

    1. Before its start it is planned as of the start; an interval that never ran begins right then.
    2. A pause outranks calendars; what would run at its end while closed waits for the opening.
    3. A moment at which it is open stays.
    4. While closed, what runs at the end moves to the opening (`calendar`).
    5. Any other slot keeps its moment and is skipped (`closed`), one for each time that it is closed.
       After that comes the first slot at or after the opening, which may again be a closed one.
    6. At its end, and where no opening is ahead, it is finished.
    """
    rules, free = endpoint.calendar_rules, evolve(endpoint, calendar_rules=NO_RULES)
    starts = rules.starts_at
    if starts is None or starts <= now:
        planned = plan(now, free, cron)
    else:
        planned = _not_before(starts, plan(starts - INSTANT, free, cron), endpoint)
    if planned.next_run_at is None or planned.source is PAUSED:
        return planned
    grace = _grace(endpoint)
    kept = _within_calendars(planned, endpoint, grace)
    if kept.source is not CLOSED or not _skipped_since_closed(endpoint, planned.next_run_at, grace):
        return kept
    opening = first_open(rules, _asked_at(endpoint, planned.next_run_at, grace))
    assert opening is not None, "what is closed, and not finished, opens again"
    after = _first_slot(opening, endpoint.anchor(now), free, cron, plan)
    if after.next_run_at is None:
        return after
    return _within_calendars(
        after._replace(candidates=(*kept.candidates, *after.candidates)), endpoint, grace
    )


def _not_before(starts: datetime, planned: Plan, endpoint: Endpoint) -> Plan:
    """A plan that was made as of the start. Cron lines wait for a fire, heartbeats for their sender."""
    at, source, candidates = planned
    if at is None or source is PAUSED:
        return planned
    begins = isinstance(cadence_at(endpoint.baseline, starts), Every) and not endpoint.has_history
    if at >= starts and not (begins and type(endpoint.target) is not HeartbeatTarget):
        return planned
    return Plan(starts, source, (*candidates, Candidate(starts, source)))


def _within_calendars(planned: Plan, endpoint: Endpoint, grace: timedelta) -> Plan:
    """The plan where it is open, and what becomes of its moment where it is closed."""
    at, _, candidates = planned
    assert at is not None, "what is finished needs no calendars"
    asked_at = _asked_at(endpoint, at, grace)
    opening = first_open(endpoint.calendar_rules, asked_at)
    if opening is asked_at:
        return planned
    if opening is None:
        return Plan(None, Source.FINISHED, candidates)
    runs_at_end = endpoint.calendar_rules.when_closed is RUN_AT_END and not grace
    chosen = Candidate(opening, CALENDAR) if runs_at_end else Candidate(at, CLOSED)
    return Plan(*chosen, (*candidates, chosen))


def _grace(endpoint: Endpoint) -> timedelta:
    """How long after its expected moment a heartbeat is missing; nothing for everything else."""
    target = endpoint.target
    return milliseconds(target.grace_ms) if isinstance(target, HeartbeatTarget) else NO_GRACE


def _asked_at(endpoint: Endpoint, at: datetime, grace: timedelta) -> datetime:
    """The moment that has to be open: for a heartbeat also the one at which it is expected."""
    if grace and first_open(endpoint.calendar_rules, at - grace) != at - grace:
        return at - grace
    return at


def _skipped_since_closed(endpoint: Endpoint, at: datetime, grace: timedelta) -> bool:
    """Was a slot skipped already while it is closed this time? What runs once has no other slot.

    The skipped slot lies later than this one where the clock was set back.
    """
    open_times, skipped = endpoint.calendar_rules.open_times, endpoint.skipped_at
    if skipped is None or open_times is None or type(endpoint.baseline) is Once:
        return False
    asked_at = _asked_at(endpoint, at, grace)
    since, opening = open_times.closed_since(asked_at), open_times.opens_at(asked_at)
    return (since is None or since <= skipped) and (opening is None or skipped < opening)


def _first_slot(opening: datetime, last: datetime, free: Endpoint, cron: "CronClock", plan: Planner) -> Plan:
    """The first slot at or after an opening.

    1. A cron line has its fires. An interval goes on in its steps from where planning started.
    2. A one-shot whose moment lies in between has passed with the slot that was skipped.
    3. A heartbeat is expected one interval after the opening: only its sender knows the steps.
    """
    before, hint = opening - INSTANT, free.one_shot_hint
    grace = _grace(free)
    later = None if hint is None or hint.at < opening else hint
    fresh = evolve(free, one_shot_hint=None, paused_until=None)
    if grace:
        fresh = evolve(fresh, target=PLAIN, guard=NO_GUARD)
    first = plan(before, evolve(fresh, last_run_at=before, skipped_at=None), cron)
    if first.source is BASELINE_CRON or not _is_interval(fresh, before):
        first = plan(before, fresh, cron)
    elif not grace and first.next_run_at is not None:
        step = first.next_run_at - before
        at = last + -((last - opening) // step) * step
        first = Plan(at, first.source)
    if first.next_run_at is None:
        return first
    at, source = max(opening, first.next_run_at + grace), first.source
    if later is not None and later.expires_at > opening and later.at < at:
        at, source = later.at, Source.AI_ONESHOT
    return Plan(at, source, (Candidate(at, source),))


def _is_interval(endpoint: Endpoint, at: datetime) -> bool:
    hint = endpoint.interval_hint
    return type(endpoint.baseline) is Every or (hint is not None and hint.fresh(at))


PLAIN, NO_GUARD = CallableTarget(), Guard()
"""What a heartbeat is planned as, to know when it is expected."""
