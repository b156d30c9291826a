"""Changes of a schedule by its user: another time or prompt, a pause, a snooze, a run now, a resume."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from cadenza.domain.access.tenant import Limits
from cadenza.domain.agents.pacing import finished
from cadenza.domain.agents.probe import check_may_schedule, planning_of
from cadenza.domain.agents.schedule import is_active, prompt_of
from cadenza.domain.agents.schedule_calendars import check_calendars
from cadenza.domain.agents.schedule_protection import for_schedules
from cadenza.domain.agents.schedule_request import (
    check_count_of,
    checked_pacing,
    checked_prompt,
    within_limits_of_user,
)
from cadenza.domain.agents.schedule_timing import Timing, guard_of, one_shot_baseline, recurring_baseline
from cadenza.domain.agents.users import one_line
from cadenza.domain.errors import Conflict, InvalidRequest
from cadenza.domain.scheduling import steer
from cadenza.domain.scheduling.baseline import Baseline, Cron, Once
from cadenza.domain.scheduling.calendars.calendar import Calendar
from cadenza.domain.scheduling.calendars.named_rules import changed_rules
from cadenza.domain.scheduling.due import FOREVER
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import CronClock, plan_next_run
from cadenza.domain.scheduling.hint import HintKind, OneShotHint
from cadenza.domain.scheduling.nudge import replan
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.steer import ChangedEndpoint, HintRecord, definition_differs
from cadenza.domain.validation import iso

SNOOZED = "snoozed"
SNOOZE_KEPT_FOR = timedelta(days=366)
"""How long a snooze is still served when no worker ran at its moment."""
NO_GUARD = Guard()
NO_CALENDARS: Mapping[str, Calendar] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleUpdate(Timing):
    """What of a schedule changes; None leaves a part as it is."""

    name: str | None = None
    prompt: str | None = None
    agent_id: str | None = None
    may_schedule: bool | None = None
    may_pace: bool | None = None
    calendar: Mapping[str, Any] | None = None
    """What changes of the calendars that it keeps to."""
    unbounded: frozenset[str] = frozenset()
    """Which of `min_interval_seconds` and `max_interval_seconds` the guard loses."""


def changed_baseline(
    endpoint: Endpoint, update: ScheduleUpdate, *, now: datetime, zone: str | None
) -> Baseline:
    """The baseline after an update; `zone` is the user's.

    1. A new moment makes it one-shot; a cron expression or an interval makes it recurring.
    2. A time zone alone is another zone for its cron expression.
    3. A cron expression alone keeps the zone of the one before.
    """
    before = endpoint.baseline
    own_zone = before.timezone if isinstance(before, Cron) else zone
    if update.is_once:
        return one_shot_baseline(update, now=now, zone=update.timezone or own_zone)
    if update.is_recurring:
        return recurring_baseline(update, update.timezone or own_zone)
    if update.timezone is None:
        return before
    if isinstance(before, Cron):
        return Cron(before.expression, update.timezone)
    raise InvalidRequest("A timezone goes with run_at or cron_expression: give one of them too.", "timezone")


def updated(
    endpoint: Endpoint,
    update: ScheduleUpdate,
    *,
    baseline: Baseline,
    calendars: Mapping[str, Calendar] = NO_CALENDARS,
    others: Sequence[Endpoint],
    limits: Limits,
    now: datetime,
    cron: CronClock,
    origin: str,
) -> ChangedEndpoint:
    """The schedule as its user wants it now, within the limits that hold for new ones.

    1. A part that is not given stays; a schedule that fires once has no guard and is not paced.
    2. A new time, guard or calendar ends a snooze and the hints of its agent, and is planned at once; a
       pause stays.
    3. A schedule that was done, and gets a new time, is active again.
    """
    target, fires_once = prompt_of(endpoint), isinstance(baseline, Once)
    new_target = replace(
        target,
        prompt=target.prompt if update.prompt is None else checked_prompt(update.prompt),
        agent_id=update.agent_id or target.agent_id,
        may_schedule=target.may_schedule if update.may_schedule is None else update.may_schedule,
        may_pace=_may_pace(target.may_pace and not fires_once, update.may_pace, baseline),
    )
    check_may_schedule(new_target.probe, may_schedule=new_target.may_schedule)
    wanted = evolve(
        endpoint,
        name=endpoint.name if update.name is None else one_line("name", update.name),
        target=new_target,
        baseline=baseline,
        guard=_changed_guard(endpoint.guard, update, baseline),
        calendar_rules=changed_rules(endpoint.calendar_rules, update.calendar or {}, calendars),
    )
    changed = evolve(wanted, planning=planning_of(wanted))
    if not definition_differs(endpoint, changed, steer.CADENCE_FIELDS):
        return ChangedEndpoint(changed)
    if not is_active(endpoint):
        check_count_of(others, limits)
    planned = _planned(endpoint, changed, now, cron)
    if is_active(endpoint) or definition_differs(endpoint, changed, ("baseline",)):
        check_calendars(planned, now, cron)
    hinted = endpoint.interval_hint is not None or endpoint.one_shot_hint is not None
    record = HintRecord(HintKind.CLEAR, now, origin) if hinted else None
    return ChangedEndpoint(within_limits_of_user(planned, others, limits=limits, cron=cron), record=record)


def _may_pace(before: bool, wanted: bool | None, baseline: Baseline) -> bool:  # noqa: FBT001 - values, not switches
    return checked_pacing(before if wanted is None else wanted, baseline)


def _changed_guard(before: Guard, update: ScheduleUpdate, baseline: Baseline) -> Guard:
    if isinstance(baseline, Once):
        return guard_of(update, baseline)
    bounds = {}
    for name, bound_ms in (("min", before.min_interval_ms), ("max", before.max_interval_ms)):
        field = f"{name}_interval_seconds"
        seconds = getattr(update, field)
        if seconds is None and field not in update.unbounded and bound_ms is not None:
            seconds = bound_ms // 1_000
        bounds[field] = seconds
    return guard_of(replace(update, **bounds), baseline)


def _planned(before: Endpoint, changed: Endpoint, now: datetime, cron: CronClock) -> Endpoint:
    """A schedule with a new cadence, planned by it; what is due or in flight keeps its moment."""
    fresh = evolve(_awake(changed), interval_hint=None, one_shot_hint=None)
    if before.next_run_at is not None:
        return replan(fresh, now, cron)
    started = evolve(fresh, skipped_at=None if isinstance(fresh.baseline, Once) else now)
    plan = plan_next_run(now, started, cron)
    return evolve(started, next_run_at=plan.next_run_at, next_source=plan.source)


def _awake(endpoint: Endpoint) -> Endpoint:
    """The schedule without a snooze; another pause stays."""
    if endpoint.pause_reason != SNOOZED:
        return endpoint
    return evolve(endpoint, paused_until=None, pause_reason=None, pause_origin=None, one_shot_hint=None)


def paused(
    endpoint: Endpoint,
    until: datetime | None,
    reason: str | None,
    *,
    now: datetime,
    cron: CronClock,
    origin: str,
) -> ChangedEndpoint:
    """Do not let it fire until a moment or, without one, until it is resumed."""
    _refuse_done(endpoint, "pause")
    end = until or FOREVER
    pause = for_schedules(steer.pause)
    return _applied(pause(_awake(endpoint), end, reason, now=now, cron=cron, origin=origin))


def snoozed(
    endpoint: Endpoint, until: datetime, *, now: datetime, cron: CronClock, origin: str
) -> ChangedEndpoint:
    """Put off its next firing to a moment, once; then it goes on as before.

    1. It does not fire before that moment; a slot that was due and not claimed is skipped.
    2. It fires then, also one that fired once and was done.
    3. A new snooze replaces one before; a schedule that is paused is resumed, and not snoozed.
    """
    if endpoint.paused(now) and endpoint.pause_reason != SNOOZED:
        raise Conflict(f"{endpoint.name} is paused: resume it, and snooze it then.")
    ahead = endpoint.next_run_at
    if isinstance(endpoint.baseline, Once) and ahead == endpoint.baseline.at and ahead > until:
        raise InvalidRequest(
            f"{endpoint.name} fires at {iso(ahead)}, which is later: move it with `update_schedule`.", "until"
        )
    awake = evolve(endpoint, one_shot_hint=None, paused_until=None, pause_reason=None, pause_origin=None)
    pause = for_schedules(steer.pause)
    changed = _applied(pause(awake, until, SNOOZED, now=now, cron=cron, origin=origin))
    hint = OneShotHint(until, until + SNOOZE_KEPT_FOR, SNOOZED, origin)
    later = evolve(changed.endpoint, one_shot_hint=hint, next_run_at=until, next_source=Source.AI_ONESHOT)
    return changed._replace(endpoint=later)


def resumed(endpoint: Endpoint, *, now: datetime, cron: CronClock, origin: str) -> ChangedEndpoint:
    """Let it fire again: a paused one, a snoozed one, and a recurring one that its agent has finished.

    1. Its next firing is planned from now; one that fires once, and could not, fires at once.
    2. One that is neither paused nor done stays as it is.
    """
    is_done = endpoint.next_run_at is None and not isinstance(endpoint.baseline, Once)
    if not endpoint.paused(now) and not is_done:
        return ChangedEndpoint(endpoint)
    record = HintRecord(HintKind.RESUME, now, origin)
    opened = evolve(endpoint, paused_until=None, pause_reason=None, pause_origin=None)
    was_snoozed = endpoint.pause_reason == SNOOZED
    if was_snoozed:
        opened = evolve(opened, one_shot_hint=None)
    elif isinstance(endpoint.baseline, Once):  # It may have begun, and not ended.
        return ChangedEndpoint(_resumed_at(opened, max(now, endpoint.baseline.at)), record=record)
    if is_done:
        opened = evolve(opened, skipped_at=now)
    moment = plan_next_run(now, opened, cron).next_run_at
    after = finished(opened) if moment is None else _resumed_at(opened, moment)
    return ChangedEndpoint(after, record=record)


def _resumed_at(endpoint: Endpoint, moment: datetime) -> Endpoint:
    return evolve(endpoint, next_run_at=moment, next_source=Source.RESUME)


def due_now(endpoint: Endpoint, *, now: datetime) -> ChangedEndpoint:
    """Let it fire at once, beside its regular times; a snooze ends, and one that was done fires once more."""
    return for_schedules(steer.run_now)(_awake(endpoint), now=now)


def _refuse_done(endpoint: Endpoint, what: str) -> None:
    if not is_active(endpoint):
        raise Conflict(f"{endpoint.name} is done: there is nothing to {what}.")


def _applied(changed: ChangedEndpoint) -> ChangedEndpoint:
    """The change; Conflict if what is in force keeps it off."""
    if changed.record is not None and changed.record.not_applied is not None:
        raise Conflict(f"{changed.endpoint.name} stays as it is, because {changed.record.not_applied}.")
    return changed
