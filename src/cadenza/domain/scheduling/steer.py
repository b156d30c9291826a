"""Changes of an endpoint by steering and by its owner, as pure functions."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from cadenza.domain.agents.schedule_protection import not_for_schedules, refuse_new_schedule
from cadenza.domain.errors import Conflict, InvalidRequest
from cadenza.domain.monitoring.heartbeat import refuse_heartbeat
from cadenza.domain.planning.planner_limits import why_kept_off
from cadenza.domain.scheduling.baseline import Once
from cadenza.domain.scheduling.calendars.gate import first_open, refuse_never
from cadenza.domain.scheduling.due import closed_gate, due
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import CronClock, plan_next_run
from cadenza.domain.scheduling.hint import HintKind, HintMode, IntervalHint, OneShotHint
from cadenza.domain.scheduling.nudge import (
    Nudge,
    earliest_run,
    nudge,
    plan_from_now,
    relax,
    replan,
    spread,
)
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.requested_runs.waiting import without_requests
from cadenza.domain.scheduling.run import Run, SkippedSlot
from cadenza.domain.scheduling.target import HeartbeatTarget
from cadenza.domain.validation import iso, milliseconds


class HintRecord(NamedTuple):
    """A line of the hint history: what was asked for, its origin and its reason."""

    kind: HintKind
    written_at: datetime
    origin: str
    reason: str | None = None
    expires_at: datetime | None = None
    interval_ms: int | None = None
    at: datetime | None = None
    not_applied: str | None = None
    """Why nothing came of it: what of a higher rank was in force, or what its owner does not allow."""


class ChangedEndpoint(NamedTuple):
    """A changed endpoint, with all that is written in the same commit."""

    endpoint: Endpoint
    skipped: tuple[SkippedSlot, ...] = ()
    record: HintRecord | None = None
    nudge: Nudge | None = None
    note: str | None = None
    """What the caller should know beside the new plan."""
    closed: Run | None = None
    """The open run that it ends, with the lease of the endpoint."""

    @property
    def applied(self) -> bool:
        """Whether it took effect; what a higher rank had decided stays as it is."""
        return self.record is None or self.record.not_applied is None


EndpointChange = Callable[[Endpoint], ChangedEndpoint]


@not_for_schedules
def take_interval_hint(
    endpoint: Endpoint, hint: IntervalHint, *, now: datetime, cron: CronClock, origin: str
) -> ChangedEndpoint:
    """Write the interval hint, nudge to one interval from now, and relax if the mode allows."""
    if isinstance(endpoint.baseline, Once):
        raise InvalidRequest("An endpoint that runs once cannot have an interval hint.", "intervalMs")
    record = HintRecord(HintKind.INTERVAL, now, origin, hint.reason, hint.expires_at, hint.interval_ms)
    if refused := _kept_off(endpoint, record, cron):
        return refused
    hinted = evolve(endpoint, interval_hint=replace(hint, origin=origin))
    moved, nudged = nudge(hinted, now, now + milliseconds(hint.interval_ms), Source.AI_INTERVAL)
    if endpoint.hint_mode is HintMode.OVERRIDE:
        moved = relax(moved, now, cron)
    return ChangedEndpoint(moved, record=record, nudge=nudged, note=nudged.note)


@not_for_schedules
def take_one_shot(
    endpoint: Endpoint, hint: OneShotHint, *, now: datetime, cron: CronClock, origin: str
) -> ChangedEndpoint:
    """Write the one-shot hint and nudge to its moment; one that it replaces unserved leaves its row."""
    record = HintRecord(HintKind.ONE_SHOT, now, origin, hint.reason, hint.expires_at, at=hint.at)
    if refused := _kept_off(endpoint, record, cron):
        return refused
    tidy, passed = without_stale_hints(endpoint, now)
    hinted = evolve(tidy, one_shot_hint=replace(hint, origin=origin))
    moved, nudged = nudge(hinted, now, hint.at, Source.AI_ONESHOT)
    return ChangedEndpoint(moved, passed, record, nudged, nudged.note)


@not_for_schedules
def pause(
    endpoint: Endpoint,
    until: datetime,
    reason: str | None,
    *,
    now: datetime,
    cron: CronClock,
    origin: str,
    jitter_ms: int = 0,
) -> ChangedEndpoint:
    """Close the gate. A slot that was due and unclaimed is skipped; one that waits for a retry stays open."""
    if until <= now:
        raise InvalidRequest(f"A pause must end in the future, not at {iso(until)}.", "untilIso")
    record = HintRecord(HintKind.PAUSE, now, origin, reason, until)
    if refused := _kept_off(endpoint, record, cron):
        return refused
    paused = evolve(endpoint, paused_until=until, pause_reason=reason, pause_origin=origin)
    passed: tuple[SkippedSlot, ...] = ()
    slot = endpoint.next_run_at
    if slot is not None:
        paused = spread(evolve(paused, next_run_at=until, next_source=Source.PAUSED), jitter_ms)
        if due(endpoint, now) and endpoint.open_slot is None:
            passed = (SkippedSlot(slot, endpoint.next_source, "paused before it could start", now),)
            paused = without_one_shot_of(slot, paused)
    return ChangedEndpoint(paused, passed, record)


@not_for_schedules
def resume(
    endpoint: Endpoint, reason: str | None, *, now: datetime, cron: CronClock, origin: str, jitter_ms: int = 0
) -> ChangedEndpoint:
    """Open the gate and plan anew, also when that is later; what is not paused stays as it is."""
    record = HintRecord(HintKind.RESUME, now, origin, reason)
    if refused := _kept_off(endpoint, record, cron):
        return refused
    opened = evolve(endpoint, paused_until=None, pause_reason=None, pause_origin=None)
    if not endpoint.paused(now) or endpoint.retired:
        return ChangedEndpoint(opened, record=record)
    return ChangedEndpoint(plan_from_now(opened, now, cron, jitter_ms), record=record)


@not_for_schedules
def clear_hints(
    endpoint: Endpoint, *, now: datetime, cron: CronClock, origin: str, jitter_ms: int = 0
) -> ChangedEndpoint:
    """Remove both hints and plan anew; what is due, claimed or waiting for a retry keeps its moment."""
    record = HintRecord(HintKind.CLEAR, now, origin)
    if refused := _kept_off(endpoint, record, cron):
        return refused
    _, passed = without_stale_hints(endpoint, now)
    cleared = evolve(endpoint, interval_hint=None, one_shot_hint=None)
    return ChangedEndpoint(replan(cleared, now, cron, jitter_ms), passed, record)


def _kept_off(endpoint: Endpoint, record: HintRecord, cron: CronClock) -> ChangedEndpoint | None:
    """The endpoint as it is, with the record of a call that may not act."""
    because = why_kept_off(endpoint, record, now=record.written_at, cron=cron)
    if because is None:
        return None
    refused = record._replace(not_applied=because)
    return ChangedEndpoint(endpoint, record=refused, note=f"Not applied, because {because}.")


@not_for_schedules
def run_now(endpoint: Endpoint, *, now: datetime) -> ChangedEndpoint:
    """Make it due at once, as soon as its minimum interval allows."""
    refuse_heartbeat(endpoint)
    gate = "running" if endpoint.lease else closed_gate(endpoint, now)
    if gate is not None:
        raise Conflict(f"{endpoint.name} cannot run now ({gate}).")
    moment = earliest_run(endpoint, now)
    if endpoint.next_run_at is not None and endpoint.next_run_at <= moment:
        return ChangedEndpoint(endpoint)
    return ChangedEndpoint(evolve(endpoint, next_run_at=moment, next_source=Source.MANUAL))


@not_for_schedules
def reset_failures(endpoint: Endpoint) -> ChangedEndpoint:
    """Forget the failures in a row."""
    return ChangedEndpoint(evolve(endpoint, failure_count=0, abandoned_count=0, abandoned_alone_count=0))


@not_for_schedules
def archive(endpoint: Endpoint, *, now: datetime) -> ChangedEndpoint:
    """Archive a deleted endpoint: it is never due again, a run in flight ends normally, and none waits."""
    waiting, gone = without_requests(endpoint, "its endpoint was deleted", now)
    return ChangedEndpoint(evolve(waiting, archived=True), gone)


def without_stale_hints(endpoint: Endpoint, now: datetime) -> tuple[Endpoint, tuple[SkippedSlot, ...]]:
    """The endpoint without hints that are over; a one-shot that expired unserved is a skipped slot."""
    interval, one_shot = endpoint.interval_hint, endpoint.one_shot_hint
    passed: tuple[SkippedSlot, ...] = ()
    if interval is None and one_shot is None:
        return endpoint, passed
    if interval is not None and not interval.fresh(now):
        interval = None
    if one_shot is not None:
        served = one_shot.served(endpoint.last_run_at, now)
        expired = not one_shot.fresh(now)
        if expired and not served and not _answered_by_due_slot(endpoint, one_shot, now):
            passed = (SkippedSlot(one_shot.at, Source.AI_ONESHOT, "the one-shot hint expired unserved", now),)
        if served or expired:
            one_shot = None
    if interval is endpoint.interval_hint and one_shot is endpoint.one_shot_hint:
        return endpoint, passed
    return evolve(endpoint, interval_hint=interval, one_shot_hint=one_shot), passed


def _answered_by_due_slot(endpoint: Endpoint, hint: OneShotHint, now: datetime) -> bool:
    """Is a slot due, or still open, that serves the one-shot? Its verdict is the hint's verdict too."""
    if endpoint.open_slot is not None and hint.at <= endpoint.open_slot.slot:
        return True
    stored = endpoint.next_run_at
    return stored is not None and hint.at <= stored <= now


def without_one_shot_of(slot: datetime, endpoint: Endpoint) -> Endpoint:
    """A one-shot whose slot has its verdict, though nothing ran, does not come back."""
    hint = endpoint.one_shot_hint
    if hint is None or hint.at > slot:
        return endpoint
    return evolve(endpoint, one_shot_hint=None)


DEFINITION_FIELDS = (
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
    "severity",
    "parent_id",
    "limit_key",
    "priority",
    "calendar_rules",
)
"""The fields that an owner writes; the others are its state."""
CADENCE_FIELDS = ("baseline", "guard", "policy", "hint_mode", "calendar_rules")
"""The fields that decide when the next run is."""


def plan_first_run(
    endpoint: Endpoint, *, now: datetime, cron: CronClock, start_now: bool = False, jitter_ms: int = 0
) -> Endpoint:
    """A new endpoint with its first run planned, one interval away, or due at once."""
    refuse_new_schedule(endpoint)
    refuse_never(endpoint, now)
    plan = plan_next_run(now, endpoint, cron)
    if start_now and plan.source not in (Source.PAUSED, Source.FINISHED):
        at_once = first_open(endpoint.calendar_rules, now)
        return spread(evolve(endpoint, next_run_at=at_once, next_source=Source.FIRST), jitter_ms)
    return spread(evolve(endpoint, next_run_at=plan.next_run_at, next_source=plan.source), jitter_ms)


def definition_differs(
    before: Endpoint, after: Endpoint, fields: tuple[str, ...] = DEFINITION_FIELDS
) -> bool:
    """Do the two differ in anything that an owner writes?"""
    return any(getattr(after, field) != getattr(before, field) for field in fields)


@not_for_schedules
def redefine(
    endpoint: Endpoint, wanted: Endpoint, *, now: datetime, cron: CronClock, jitter_ms: int = 0
) -> ChangedEndpoint:
    """The endpoint as its owner wants it now; its state stays.

    It is planned anew only if its cadence changed: a new name moves no run. One that was retired comes
    back with a new target.
    """
    if not definition_differs(endpoint, wanted):
        return ChangedEndpoint(endpoint)
    if definition_differs(endpoint, wanted, ("target", "job_id")):
        refuse_new_schedule(wanted)
    if definition_differs(endpoint, wanted, ("baseline", "calendar_rules")):
        refuse_never(wanted, now)
    changes = {field: getattr(wanted, field) for field in DEFINITION_FIELDS}
    if isinstance(wanted.baseline, Once):
        changes["interval_hint"] = None
    comes_back = endpoint.retired and definition_differs(endpoint, wanted, ("target",))
    if comes_back:
        changes["next_source"] = Source.FIRST
    changed = evolve(endpoint, **changes)
    to_heartbeat = type(wanted.target) is HeartbeatTarget
    reason = "its endpoint expects heartbeats now"
    changed, gone = without_requests(changed, reason, now) if to_heartbeat else (changed, ())
    if not comes_back and not definition_differs(endpoint, wanted, CADENCE_FIELDS):
        return ChangedEndpoint(changed, gone)
    return ChangedEndpoint(replan(changed, now, cron, jitter_ms), gone)
