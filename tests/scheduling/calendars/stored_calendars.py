"""Calendars that stand in a store, for tests of what names them."""

from datetime import datetime, timedelta
from functools import partial

from tests.scheduling.calendars.calendar_fixtures import OFFICE, a_definition

from cadenza.adapters.cron import CronsimCron
from cadenza.domain.scheduling.calendars.calendar import Calendar
from cadenza.domain.scheduling.calendars.compile import NO_FACTS, CompiledCalendar, compile_calendar, horizon
from cadenza.domain.scheduling.calendars.definition import CalendarParts
from cadenza.domain.scheduling.calendars.following import follow_calendar
from cadenza.ports.store import Store


async def put_calendar(
    store: Store,
    calendar_id: str,
    open_during: CalendarParts = OFFICE,
    *,
    now: datetime,
    tenant_id: str = "default",
    timezone: str = "UTC",
) -> Calendar:
    """Write a calendar, and let all that names it follow."""
    definition = a_definition(
        open_during, id=calendar_id, tenant_id=tenant_id, timezone=timezone, created_at=now - timedelta(1)
    )
    over = horizon(now)
    calendar = compile_calendar(definition, over, NO_FACTS)
    follow = partial(follow_calendar, calendar=calendar, now=now, cron=CronsimCron())
    await store.calendars.put_calendar(CompiledCalendar(definition, calendar, over.until), follow)
    return calendar
