"""A year of a calendar: its open days, the clock changes of its zone, and what would run."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Annotated, Self

from cadenza.domain.access.key import Scope
from cadenza.domain.errors import NotFound
from cadenza.domain.local_time import Span
from cadenza.domain.monitoring.forecast import forecast_runs
from cadenza.domain.scheduling.calendars.calendar import Calendar
from cadenza.domain.scheduling.calendars.following import follow_calendar
from cadenza.domain.scheduling.calendars.year import HOUR, CalendarYear, span_of_year, year_of
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.plan import Source
from cadenza.engine.async_helpers import beside_event_loop
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Id, Whole
from cadenza.operations.operation import Command, View, operation
from cadenza.operations.scheduling.calendars.calendars import OneCalendar, compile_now
from cadenza.operations.scheduling.calendars.schemas import CalendarFields, definition_of
from cadenza.ports.catalog import Page

FIRST_YEAR, LAST_YEAR = 2000, 2200
MOST_ENDPOINTS, MOST_RUNS, NEXT_RUNS = 10, 500, 3
"""How many endpoints are foreseen, how many runs of each are counted, and how many are shown."""
DRAFT = "draft"
Year = Annotated[int, Whole(FIRST_YEAR, LAST_YEAR)]


class CalendarPreview(OneCalendar):
    """A year of a calendar."""

    year: Year | None = None
    """This year, if it is left out."""


class DraftPreview(CalendarFields, Command):
    """A year of a calendar that is not stored."""

    calendar_id: Id | None = None
    """The stored calendar that it would replace: what names that one is planned by it."""
    year: Year | None = None
    """This year, if it is left out."""


class OpenHoursView(View):
    """A part of a day by the clocks of the zone; 24:00 is midnight."""

    opens: str
    closes: str


class OpenDayView(View):
    """A day on which it is open."""

    date: date
    hours: list[OpenHoursView]


class OpenMonthView(View):
    """How much of a month it is open."""

    month: int
    open_days: int
    open_hours: float


class ClockChangeView(View):
    """A change of the zone's clocks."""

    at: datetime
    before: str
    """The local time at which it happens, such as 02:00 +01:00."""
    after: str
    """What clocks show then."""


class EndpointRunsView(View):
    """What would run of an endpoint that names the calendar."""

    endpoint_id: str
    name: str
    runs: int
    """How many of its runs from now on would be in that year."""
    more: bool
    """Whether there would be more than were counted."""
    next_runs: list[datetime]
    """The first of them."""


class CalendarYearView(View):
    """A year of a calendar, and what would run."""

    calendar_id: str
    timezone: str
    year: int
    months: list[OpenMonthView]
    days: list[OpenDayView]
    """The days on which it is open at all."""
    clock_changes: list[ClockChangeView]
    endpoints: list[EndpointRunsView]
    """Some of those that name it, with their runs if each starts on time and no hints come."""

    @classmethod
    def of(
        cls, calendar: Calendar, year: int, found: CalendarYear, endpoints: list[EndpointRunsView]
    ) -> Self:
        """The view of a year."""
        changes = found.changes
        return cls(
            calendar_id=calendar.id,
            timezone=calendar.timezone,
            year=year,
            months=_months(found),
            days=[
                OpenDayView(date=day.date, hours=[OpenHoursView(**one._asdict()) for one in day.hours])
                for day in found.days
            ],
            clock_changes=[
                ClockChangeView(
                    at=one.at,
                    before=f"{one.at + one.before:%H:%M} {_offset(one.before / HOUR)}",
                    after=f"{one.at + one.after:%H:%M} {_offset(one.after / HOUR)}",
                )
                for one in changes
            ],
            endpoints=endpoints,
        )


@operation("GET /v1/calendars/{calendar_id}/preview", Scope.READ)
async def preview_calendar(context: RequestContext, command: CalendarPreview) -> CalendarYearView:
    """Show a year of a calendar: when it is open, when its clocks change, and what would run."""
    stored = await context.store.calendars.calendar(context.tenant_id, command.calendar_id)
    return await _preview(context, stored.calendar, command.year)


@operation("POST /v1/calendars/preview", Scope.READ, agent=False, bulk=True)
async def preview_calendar_draft(context: RequestContext, command: DraftPreview) -> CalendarYearView:
    """Show a year of a calendar that is not stored: when it would be open, and what would run."""
    calendar_id = command.calendar_id or DRAFT
    definition = definition_of(command, tenant_id=context.tenant_id, calendar_id=calendar_id)
    draft = await compile_now(context, definition)
    return await _preview(context, draft.calendar, command.year)


async def _preview(context: RequestContext, calendar: Calendar, year: int | None) -> CalendarYearView:
    now = context.dependencies.clock.now()
    wanted = now.year if year is None else year
    endpoints = await _using(context, calendar.id)
    found = await beside_event_loop(year_of, calendar, wanted)
    within = span_of_year(calendar, wanted)
    runs = await beside_event_loop(_foreseen, context, calendar, endpoints, within)
    return CalendarYearView.of(calendar, wanted, found, runs)


async def _using(context: RequestContext, calendar_id: str) -> list[Endpoint]:
    """The first endpoints that name a calendar."""
    uses = await context.store.calendars.uses(context.tenant_id, calendar_id, Page(MOST_ENDPOINTS))
    found = []
    for use in uses:
        if use.kind == "endpoint":
            try:
                found.append(await context.store.endpoints.get(EndpointKey(context.tenant_id, use.id)))
            except NotFound:  # It was deleted just now.
                continue
    return found


def _foreseen(
    context: RequestContext, calendar: Calendar, endpoints: Sequence[Endpoint], within: Span
) -> list[EndpointRunsView]:
    planning = context.dependencies.planning_context()
    views = []
    for stored in endpoints:
        endpoint = follow_calendar(stored, calendar=calendar, **planning).endpoint
        runs = forecast_runs(endpoint, now=planning["now"], cron=planning["cron"], most=MOST_RUNS)
        really = (one.at for one in runs if one.source is not Source.CLOSED)
        inside = [at for at in really if within[0] <= at < within[1]]
        views.append(
            EndpointRunsView(
                endpoint_id=endpoint.id,
                name=endpoint.name,
                runs=len(inside),
                more=len(runs) == MOST_RUNS and runs[-1].at < within[1],
                next_runs=inside[:NEXT_RUNS],
            )
        )
    return views


def _months(found: CalendarYear) -> list[OpenMonthView]:
    views = []
    for month in range(1, 13):
        days = [day for day in found.days if day.date.month == month]
        hours = sum(day.open_for / HOUR for day in days)
        views.append(OpenMonthView(month=month, open_days=len(days), open_hours=round(hours, 2)))
    return views


def _offset(hours: float) -> str:
    minutes = round(abs(hours) * 60)
    return f"{'-' if hours < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"


CALENDAR_PREVIEWS = (preview_calendar, preview_calendar_draft)
