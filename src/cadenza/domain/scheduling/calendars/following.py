"""How endpoints and jobs follow the calendars that they name, and endpoints those of their jobs."""

from dataclasses import replace
from datetime import datetime

from cadenza.domain.scheduling.baseline import DayParts
from cadenza.domain.scheduling.calendars.calendar import Calendar
from cadenza.domain.scheduling.calendars.rules import CalendarRules
from cadenza.domain.scheduling.endpoint import Endpoint, Job, evolve
from cadenza.domain.scheduling.governor import CronClock
from cadenza.domain.scheduling.nudge import replan
from cadenza.domain.scheduling.steer import ChangedEndpoint


def calendars_of(endpoint: Endpoint) -> tuple[Calendar, ...]:
    """All calendars that an endpoint names, those of its job and of its day parts too."""
    if isinstance(endpoint.baseline, DayParts):
        return (*endpoint.calendar_rules.calendars, *endpoint.baseline.calendars)
    return endpoint.calendar_rules.calendars


def calendar_ids(endpoint: Endpoint) -> frozenset[str]:
    """Their ids."""
    return frozenset(one.id for one in calendars_of(endpoint))


def follow_calendar(
    endpoint: Endpoint, *, calendar: Calendar, now: datetime, cron: CronClock, jitter_ms: int = 0
) -> ChangedEndpoint:
    """An endpoint with a new version of a calendar that it names, planned anew.

    What is due, claimed or waits for a retry keeps its moment.
    """
    rules, baseline = endpoint.calendar_rules.with_calendar(calendar), endpoint.baseline
    if isinstance(baseline, DayParts):
        baseline = baseline.with_calendar(calendar)
    if rules is endpoint.calendar_rules and baseline is endpoint.baseline:
        return ChangedEndpoint(endpoint)
    changed = evolve(endpoint, calendar_rules=rules, baseline=baseline)
    return ChangedEndpoint(replan(changed, now, cron, jitter_ms))


def follow_job(
    endpoint: Endpoint, job: Job, *, now: datetime, cron: CronClock, jitter_ms: int = 0
) -> ChangedEndpoint:
    """An endpoint with the calendars that its job has now, planned anew if they differ; as above."""
    changed = with_calendars_of(endpoint, job)
    if changed is endpoint:
        return ChangedEndpoint(endpoint)
    return ChangedEndpoint(replan(changed, now, cron, jitter_ms))


def with_calendars_of(endpoint: Endpoint, job: Job | None) -> Endpoint:
    """An endpoint with the calendars of its job, which keep it beside its own; its plan stays."""
    rules = CalendarRules() if job is None else job.calendar_rules
    wanted = (rules.only_during, rules.never_during)
    before = endpoint.calendar_rules
    if (before.job_only_during, before.job_never_during) == wanted:
        return endpoint
    after = replace(before, job_only_during=wanted[0], job_never_during=wanted[1])
    return evolve(endpoint, calendar_rules=after)


def job_with_calendar(job: Job, calendar: Calendar) -> Job:
    """A job with a new version of a calendar that it names."""
    rules = job.calendar_rules.with_calendar(calendar)
    return job if rules is job.calendar_rules else replace(job, calendar_rules=rules)
