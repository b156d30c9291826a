"""A decision about the next run: a moment, its source, and the candidates it was chosen from."""

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple


class Source(StrEnum):
    """Which rule set a moment."""

    BASELINE_CRON = "baseline-cron"
    BASELINE_INTERVAL = "baseline-interval"
    BASELINE_ONCE = "baseline-once"
    AI_INTERVAL = "ai-interval"
    AI_ONESHOT = "ai-oneshot"
    CLAMPED_MIN = "clamped-min"
    CLAMPED_MAX = "clamped-max"
    PAUSED = "paused"
    CALENDAR = "calendar"
    CLOSED = "closed"
    FINISHED = "finished"

    # The governor never answers with these; they say who else set a stored moment.
    FIRST = "first"
    MANUAL = "manual"
    RESUME = "resume"
    RETRY = "retry"
    QUOTA = "quota"
    RETIRED = "retired"
    HEARTBEAT = "heartbeat"

    # Of runs that were asked for beside the schedule; no endpoint's next run has them.
    RERUN = "rerun"
    BACKFILL = "backfill"


class RunKind(StrEnum):
    """What a run is: one of the schedule, a slot that is run again, or a slot that the schedule missed."""

    SCHEDULED = "scheduled"
    RERUN = "rerun"
    BACKFILL = "backfill"


REQUESTED = {Source.RERUN: RunKind.RERUN, Source.BACKFILL: RunKind.BACKFILL}
"""The sources of runs that were asked for beside the schedule."""


def kind_of(source: Source) -> RunKind:
    """What a run with this source is."""
    return REQUESTED.get(source, RunKind.SCHEDULED)


class Candidate(NamedTuple):
    """A moment that a rule proposed."""

    at: datetime
    source: Source


class Plan(NamedTuple):
    """When next, and why; `next_run_at` is None when the endpoint is finished."""

    next_run_at: datetime | None
    source: Source
    candidates: tuple[Candidate, ...] = ()


SOURCE_REASONS = {
    Source.BASELINE_CRON: "set by its cron expression",
    Source.BASELINE_INTERVAL: "set by its baseline interval",
    Source.BASELINE_ONCE: "set by its one-time baseline",
    Source.AI_INTERVAL: "set by an interval hint",
    Source.AI_ONESHOT: "set by a one-shot hint",
    Source.CLAMPED_MIN: "limited by minimum interval",
    Source.CLAMPED_MAX: "limited by maximum interval",
    Source.PAUSED: "its pause ends then",
    Source.CALENDAR: "moved to when its calendar opens",
    Source.CLOSED: "its calendar is closed then, so that the slot is skipped",
    Source.FINISHED: "its schedule is finished",
    Source.FIRST: "first run after it was created",
    Source.MANUAL: "a run was requested",
    Source.RESUME: "recalculated when it was resumed",
    Source.RETRY: "retry of a failed attempt",
    Source.QUOTA: "its tenant's quota resets then",
    Source.HEARTBEAT: "a heartbeat was received",
    Source.RERUN: "a slot is run again, as requested",
    Source.BACKFILL: "a slot is backfilled, as requested",
    Source.RETIRED: "no running program declares its function; it is active again when one does",
}
