"""An endpoint's runs counted over the last one, four and twenty-four hours."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from cadenza.domain.scheduling.run import RunStatus

WINDOWS_H = (1, 4, 24)
MOST_COUNTED = 10_000
COUNTED = frozenset({RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.TIMEOUT, RunStatus.ABANDONED})


class EndedRun(NamedTuple):
    """An ended run, in short."""

    finished_at: datetime
    status: RunStatus
    duration_ms: int
    late_ms: int = 0


class HealthSummary(NamedTuple):
    """The counts of the last `hours` hours."""

    hours: int
    runs: int = 0
    """Runs that were dispatched, without skipped and cancelled ones."""
    successes: int = 0
    failures: int = 0
    """Failed, timed out or abandoned."""
    skipped: int = 0
    success_rate: float | None = None
    mean_duration_ms: int | None = None
    p95_duration_ms: int | None = None
    complete: bool = True
    """False if there were too many runs: then only the newest are counted."""


def health(ended: Sequence[EndedRun], now: datetime, *, most: int = MOST_COUNTED) -> list[HealthSummary]:
    """The counts for each span, from runs with the newest first; `most` is the limit they were read with."""
    return [_within(hours, ended, now, most=most) for hours in WINDOWS_H]


def _within(hours: int, ended: Sequence[EndedRun], now: datetime, *, most: int) -> HealthSummary:
    begin = now - timedelta(hours=hours)
    inside = [one for one in ended if one.finished_at > begin]
    counted = [one for one in inside if one.status in COUNTED]
    successes = sum(one.status is RunStatus.SUCCESS for one in counted)
    durations = sorted(one.duration_ms for one in counted)
    runs = len(counted)
    return HealthSummary(
        hours=hours,
        runs=runs,
        successes=successes,
        failures=runs - successes,
        skipped=sum(one.status is RunStatus.SKIPPED for one in inside),
        success_rate=successes / runs if runs else None,
        mean_duration_ms=sum(durations) // runs if runs else None,
        p95_duration_ms=durations[(runs * 95 - 1) // 100] if runs else None,
        complete=len(inside) < most,
    )
