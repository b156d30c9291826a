"""The calendars of a job: ids on the wire, compiled calendars in the job."""

from cadenza.domain.errors import InvalidRequest, NotFound
from cadenza.domain.scheduling.calendars.calendar import Calendar
from cadenza.domain.scheduling.calendars.compile import refuse_rules_never_open
from cadenza.domain.scheduling.calendars.rules import NO_RULES, CalendarRules
from cadenza.domain.scheduling.endpoint import Job
from cadenza.operations.context import RequestContext
from cadenza.operations.scheduling.calendars.schemas import JobCalendarShape


async def rules_of_job(context: RequestContext, shape: JobCalendarShape | None) -> CalendarRules:
    """The rules with the calendars that a job names.

    InvalidRequest if one of them does not exist, or if they leave no moment from now on.
    """
    if shape is None:
        return NO_RULES
    rules = CalendarRules(
        only_during=await named_calendar(context, "calendar.only_during", shape.only_during),
        never_during=await named_calendar(context, "calendar.never_during", shape.never_during),
    )
    refuse_rules_never_open(rules, context.dependencies.clock.now())
    return rules


async def named_calendar(context: RequestContext, field: str, calendar_id: str | None) -> Calendar | None:
    """The compiled calendar of an id, None without one; InvalidRequest if there is none."""
    if calendar_id is None:
        return None
    try:
        return (await context.store.calendars.calendar(context.tenant_id, calendar_id)).calendar
    except NotFound:
        raise InvalidRequest(
            f"{field} names the calendar {calendar_id}, which does not exist; write it first.", field
        ) from None


def calendar_of_job(job: Job) -> JobCalendarShape | None:
    """The ids of the calendars of a job; None if it has none."""
    rules = job.calendar_rules
    if rules == NO_RULES:
        return None
    only, never = rules.only_during, rules.never_during
    return JobCalendarShape(
        only_during=None if only is None else only.id, never_during=None if never is None else never.id
    )
