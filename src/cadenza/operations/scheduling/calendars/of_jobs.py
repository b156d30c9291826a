"""The calendars of a job: ids on the wire, compiled calendars in the job."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from cadenza.domain.scheduling.calendars.calendar import Calendar
from cadenza.domain.scheduling.calendars.gate import refuse_never_open_together
from cadenza.domain.scheduling.calendars.rules import NO_RULES, CalendarRules
from cadenza.domain.scheduling.endpoint import Job
from cadenza.operations.context import RequestContext
from cadenza.operations.scheduling.calendars.schemas import JobCalendarShape
from cadenza.operations.scheduling.endpoint_parts.baselines import find_calendars
from cadenza.operations.scheduling.endpoint_parts.calendar_rules import apply_fields


async def known_job_calendars(context: RequestContext, shape: JobCalendarShape | None) -> dict[str, Calendar]:
    """The calendars that a job names, as far as the caller's tenant has them."""
    return {} if shape is None else await find_calendars(context, shape.calendar_ids)


def resolved_job_rules(
    shape: JobCalendarShape | None, calendars: Mapping[str, Calendar], now: datetime
) -> CalendarRules:
    """The rules of a new job, or of one in a file.

    InvalidRequest if a calendar does not exist, or if they leave no moment from now on.
    """
    return NO_RULES if shape is None else changed_job_rules(NO_RULES, shape.changes(), calendars, now)


def changed_job_rules(
    rules: CalendarRules, fields: Mapping[str, Any], calendars: Mapping[str, Calendar], now: datetime
) -> CalendarRules:
    """The rules of a job with some fields changed; the others stay. InvalidRequest as above."""
    changed = apply_fields(rules, fields, calendars)
    refuse_never_open_together(changed, now)
    return changed


def calendar_of_job(job: Job) -> JobCalendarShape | None:
    """The ids of the calendars of a job; None if it has none."""
    rules = job.calendar_rules
    if rules == NO_RULES:
        return None
    only, never = rules.only_during, rules.never_during
    return JobCalendarShape(
        only_during=None if only is None else only.id, never_during=None if never is None else never.id
    )
