"""What keeps a call from acting: ranks, and what models and the learning planner may not do."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from cadenza.domain.errors import Conflict
from cadenza.domain.monitoring.heartbeat import why_not_steered
from cadenza.domain.scheduling.baseline import Once
from cadenza.domain.scheduling.calendars.gate import first_open
from cadenza.domain.scheduling.calendars.rules import CalendarRules
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import CronClock, baseline_after, plan_next_run
from cadenza.domain.scheduling.hint import HintKind, IntervalHint, Rank, rank_of, why_not_applied
from cadenza.domain.validation import iso, milliseconds
from cadenza.domain.wording import duration_in_words

if TYPE_CHECKING:  # Steering asks this module.
    from cadenza.domain.scheduling.steer import HintRecord

LLM_PLANNER = "planner:llm"
MINUTE_MS = 60_000
NOT_ENABLED = "models may not enable a disabled endpoint"
NOT_DISABLED = "models may not disable an endpoint"
NOT_MOVED = "models may not move an endpoint out of a paused job"
NOT_MOVED_IN = "models may not move an endpoint into a paused job"
BOUNDS = {
    "guard": "models may not change the guard",
    "planning": "models may not change who may steer (planning)",
    "calendar_rules": "models may not change when it may run (calendar)",
}
"""The fields with which an owner bounds those who steer."""


def why_kept_off(endpoint: Endpoint, record: "HintRecord", *, now: datetime, cron: CronClock) -> str | None:
    """Why a call may not act; None if it may.

    1. A heartbeat takes no hints: its sender decides when it comes.
    2. What is in force of a higher rank stays.
    3. The LLM planner steers only endpoints for which their owner switched it on.
    4. No pause and no interval hint of a model or the learning planner puts a run off for longer than
       the owner allows, counted from when the baseline would have it after its last run. Calls that are
       repeated do not add up, as only a run moves that moment. What delays nothing may always act.
    """
    refused = why_not_steered(endpoint, record.kind)
    refused = refused or why_not_applied(endpoint.in_force(now), record.kind, record.origin)
    if refused is not None:
        return refused
    if record.origin == LLM_PLANNER and not endpoint.planning.llm:
        return "the LLM planner is not enabled for this endpoint (planning.llm)"
    if rank_of(record.origin) > Rank.LLM:
        return None
    until = _silent_until(endpoint, record, now=now, cron=cron)
    if until is None:
        return None
    latest = latest_run(endpoint, now, cron)
    if latest is None or until <= max(latest, now, endpoint.next_run_at or now):
        return None
    longest = duration_in_words(endpoint.planning.max_pause_minutes * MINUTE_MS)
    return (
        f"models and the learning planner may delay a run by at most {longest}"
        f" (planning.max_pause_minutes), and it has to run by {iso(latest)}"
    )


def why_not_changed(
    endpoint: Endpoint, changes: Mapping[str, Any], origin: str, *, into_active: bool = True
) -> dict[str, str]:
    """The fields of a change that a call may not make, and why; `into_active` is of the job it moves to.

    Models and the learning planner, whatever their scope,

    1. switch nothing on or off: neither the endpoint, nor by a move out of or into a job that is not active;
    2. do not change the bounds that its owner set for them.
    """
    if rank_of(origin) > Rank.LLM:
        return {}
    moved_in = {} if into_active else {"job_id": NOT_MOVED_IN}
    reasons = BOUNDS | why_not_switched(endpoint) | moved_in
    return {
        name: why
        for name, why in reasons.items()
        if name in changes and changes[name] != getattr(endpoint, name)
    }


def refuse_other_calendars(before: CalendarRules, after: CalendarRules, origin: str) -> None:
    """Conflict if a model or the learning planner would change the calendars of a job: they bound it, too."""
    if before != after and rank_of(origin) <= Rank.LLM:
        raise Conflict(f"The job stays as it is, because {BOUNDS['calendar_rules']}; leave `calendar` out.")


def why_not_switched(endpoint: Endpoint) -> dict[str, str]:
    """The fields that would switch an endpoint on or off as it is now, and why a model leaves them."""
    moved = {} if endpoint.job_active else {"job_id": NOT_MOVED}
    return {"enabled": NOT_DISABLED if endpoint.enabled else NOT_ENABLED, **moved}


def latest_run(endpoint: Endpoint, now: datetime, cron: CronClock) -> datetime | None:
    """The moment until which models and learning may put off the next run; None if none is to come."""
    since = endpoint.last_run_at or endpoint.created_at or now
    planned = baseline_after(since, endpoint, cron)
    if planned is None:
        return None
    due = first_open(endpoint.calendar_rules, planned) or planned
    return due + milliseconds(endpoint.planning.max_pause_minutes * MINUTE_MS)


def _silent_until(
    endpoint: Endpoint, record: "HintRecord", *, now: datetime, cron: CronClock
) -> datetime | None:
    """Until when a call would keep the endpoint from running; None if it cannot delay a run."""
    if record.kind is HintKind.PAUSE:
        return record.expires_at
    if record.interval_ms is None or record.expires_at is None or isinstance(endpoint.baseline, Once):
        return None
    hint = IntervalHint(record.interval_ms, record.expires_at)
    hinted = evolve(endpoint, interval_hint=hint, one_shot_hint=None, paused_until=None)
    return plan_next_run(now, hinted, cron).next_run_at
