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
    FINISHED = "finished"

    # The governor never answers with these; they say who else set a stored moment.
    FIRST = "first"
    MANUAL = "manual"
    RESUME = "resume"
    RETRY = "retry"
    QUOTA = "quota"
    RETIRED = "retired"
    HEARTBEAT = "heartbeat"


class Candidate(NamedTuple):
    """A moment that a rule proposed."""

    at: datetime
    source: Source


class Plan(NamedTuple):
    """When next, and why; `next_run_at` is None when the endpoint is finished."""

    next_run_at: datetime | None
    source: Source
    candidates: tuple[Candidate, ...] = ()
