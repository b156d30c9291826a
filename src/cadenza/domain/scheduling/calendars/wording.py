"""Baselines, their day parts, calendars and guards in words."""

from datetime import datetime
from typing import assert_never

from cadenza.domain.scheduling.baseline import Baseline, Cron, DayParts, Every, Once
from cadenza.domain.scheduling.calendars.gate import RUN_AT_END
from cadenza.domain.scheduling.calendars.rules import CalendarRules
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.validation import iso, milliseconds
from cadenza.domain.wording import interval_in_words, span_in_words


def baseline_in_words(baseline: Baseline, now: datetime) -> str:
    """When its owner has an endpoint run; of day parts, also which one counts now."""
    match baseline:
        case Every():
            return f"every {interval_in_words(baseline.interval_ms)}"
        case Cron():
            return f"cron expression {baseline.expression} ({baseline.timezone})"
        case Once():
            return f"one-time, at {iso(baseline.at)}"
        case DayParts():
            parts = [
                f"{baseline_in_words(one.cadence, now)} during {one.calendar.id}" for one in baseline.parts
            ]
            otherwise = f"otherwise {baseline_in_words(baseline.otherwise, now)}"
            return f"{', '.join((*parts, otherwise))}; {_in_force(baseline, now)}"
    assert_never(baseline)


def _in_force(baseline: DayParts, now: datetime) -> str:
    """Which of its day parts counts now, in words."""
    names = [one.id for one in baseline.calendars]
    counts = next((one.id for one in baseline.calendars if one.is_open(now)), None)
    if counts is not None:
        return f"{counts} is in force now"
    return f"{names[0]} is not in force now" if len(names) == 1 else "none of these is in force now"


def rules_in_words(rules: CalendarRules) -> list[str]:
    """Sentences about the calendars of an endpoint, its start and its end; none if it has none."""
    only, never = (rules.only_during, rules.job_only_during), (rules.never_during, rules.job_never_during)
    named = [f"only during {one.id}" for one in only if one is not None]
    named += [f"never during {one.id}" for one in never if one is not None]
    sentences = []
    if named:
        what = "runs when they open" if rules.when_closed is RUN_AT_END else "is skipped"
        sentences.append(f"Calendars: {', '.join(named)}; a slot while they are closed {what}.")
    if rules.starts_at is not None:
        sentences.append(f"Nothing runs before {iso(rules.starts_at)}.")
    if rules.ends_at is not None:
        sentences.append(f"Its schedule ends at {iso(rules.ends_at)}.")
    return sentences


def guard_in_words(guard: Guard) -> list[str]:
    """A sentence about the bounds of an endpoint, if it has any."""
    least = guard.min_interval_ms and span_in_words(milliseconds(guard.min_interval_ms))
    most = guard.max_interval_ms and span_in_words(milliseconds(guard.max_interval_ms))
    if least and most:
        return [f"Guard: minimum interval {least}, maximum interval {most}."]
    if least:
        return [f"Guard: minimum interval {least}."]
    return [f"Guard: maximum interval {most}."] if most else []
