"""Operations on calendars: named times in which things run, or never do."""

from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Self

from cadenza.domain.access.key import Scope
from cadenza.domain.scheduling.calendars.compile import CompiledCalendar
from cadenza.domain.scheduling.calendars.definition import CalendarDefinition, write_definition
from cadenza.domain.scheduling.calendars.following import follow_calendar
from cadenza.engine.async_helpers import beside_event_loop
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Id, Listed, Paged, Put, split_page
from cadenza.operations.operation import NO_CONTENT, Command, Nothing, View, operation
from cadenza.operations.scheduling.calendars.schemas import (
    CalendarFields,
    DatesShape,
    HolidaysShape,
    HoursShape,
    PartsShape,
    definition_of,
    shapes_of,
)
from cadenza.ports.calendars.calendar_store import UseKind
from cadenza.ports.calendars.sources import compile_definition

LOGGED_ICS = 200
"""How much of an ICS file an audit record has."""


class OneCalendar(Command):
    """The calendar that is meant."""

    calendar_id: Id


class PutCalendar(CalendarFields, OneCalendar, Put):
    """A calendar, new or in place of the one before."""


class CalendarRowView(View):
    """A calendar, and whether it is open."""

    id: str
    name: str
    timezone: str
    open: bool
    """Whether it is open now."""
    changes_at: datetime | None
    """When it closes, if it is open, or else when it opens; null if it never does."""
    compiled_until: datetime
    """Until when its times are known; they are computed anew in time."""
    created_at: datetime | None

    @classmethod
    def of(cls, one: CompiledCalendar, now: datetime) -> Self:
        """The view of a calendar."""
        return cls(**_row(one, now))


class CalendarView(CalendarRowView):
    """A calendar as it was written, and whether it is open."""

    weekly: list[HoursShape] | None
    holidays: list[HolidaysShape] | None
    dates: list[DatesShape] | None
    ics: str | None
    except_during: PartsShape | None

    @classmethod
    def of(cls, one: CompiledCalendar, now: datetime) -> Self:
        """The view of a calendar."""
        definition = one.definition
        exceptions = definition.except_during
        return cls(
            **_row(one, now),
            **shapes_of(definition.open_during),
            except_during=PartsShape.of(exceptions) if exceptions else None,
        )


class CalendarsPage(Listed[CalendarRowView]):
    """A page of calendars."""


class UsesOfCalendar(OneCalendar, Paged):
    """A part of the list of what names a calendar."""


class CalendarUseView(View):
    """Something that names a calendar."""

    kind: UseKind
    id: str


class CalendarUsesPage(Listed[CalendarUseView]):
    """A page of what names a calendar."""


@operation("PUT /v1/calendars/{calendar_id}", Scope.WRITE, bulk=True)
async def put_calendar(context: RequestContext, command: PutCalendar) -> CalendarView:
    """Write a calendar: hours, holidays, dates or an ICS file, in a time zone, with exceptions.

    Whatever names it is planned by its new times from then on.
    """
    store, now = context.store.calendars, context.dependencies.clock.now()
    await command.refuse_existing(
        f"a calendar {command.calendar_id}",
        partial(store.calendar, context.tenant_id, command.calendar_id),
    )
    definition = definition_of(command, tenant_id=context.tenant_id, calendar_id=command.calendar_id)
    one = await compile_now(context, replace(definition, created_at=now))
    follow = partial(follow_calendar, calendar=one.calendar, **context.dependencies.planning_context())
    before = await store.put_calendar(one, follow)
    note_calendar(context, definition, before)
    return CalendarView.of(await store.calendar(context.tenant_id, definition.id), now)


@operation("GET /v1/calendars", Scope.READ)
async def list_calendars(context: RequestContext, command: Paged) -> CalendarsPage:
    """List calendars, in the order of their ids, and whether each is open."""
    now = context.dependencies.clock.now()
    found = await context.store.calendars.calendars(context.tenant_id, command.page())
    calendars, more = split_page(found, command.limit)
    return CalendarsPage(
        items=[CalendarRowView.of(one, now) for one in calendars],
        next_cursor=calendars[-1].definition.id if more else None,
    )


@operation("GET /v1/calendars/{calendar_id}", Scope.READ)
async def get_calendar(context: RequestContext, command: OneCalendar) -> CalendarView:
    """Show one calendar as it was written, and whether it is open."""
    one = await context.store.calendars.calendar(context.tenant_id, command.calendar_id)
    return CalendarView.of(one, context.dependencies.clock.now())


@operation("GET /v1/calendars/{calendar_id}/uses", Scope.READ)
async def list_calendar_uses(context: RequestContext, command: UsesOfCalendar) -> CalendarUsesPage:
    """List what names a calendar, by kind and id."""
    await context.store.calendars.calendar(context.tenant_id, command.calendar_id)
    found = await context.store.calendars.uses(context.tenant_id, command.calendar_id, command.page())
    uses, more = split_page(found, command.limit)
    return CalendarUsesPage(
        items=[CalendarUseView(kind=one.kind, id=one.id) for one in uses],
        next_cursor=uses[-1].position if more else None,
    )


@operation("DELETE /v1/calendars/{calendar_id}", Scope.WRITE, status=NO_CONTENT)
async def delete_calendar(context: RequestContext, command: OneCalendar) -> Nothing:
    """Delete a calendar that nothing names any more."""
    deleted = await context.store.calendars.delete_calendar(context.tenant_id, command.calendar_id)
    note_calendar(context, None, deleted.definition)
    return Nothing()


async def compile_now(context: RequestContext, definition: CalendarDefinition) -> CompiledCalendar:
    """A calendar, compiled in a thread; InvalidRequest if it is never open from now on."""
    now, sources = context.dependencies.clock.now(), context.dependencies.calendar_sources
    return await beside_event_loop(compile_definition, definition, now, sources)


def note_calendar(
    context: RequestContext, definition: CalendarDefinition | None, before: CalendarDefinition | None
) -> None:
    """Note a changed calendar for the audit: None if it was deleted, or if there was none before."""
    present = definition or before
    assert present is not None, "something changes"
    earlier, later = (None if one is None else _noted(one) for one in (before, definition))
    context.trail.note("calendar", present.id, before=earlier, after=later)


def _noted(definition: CalendarDefinition) -> dict[str, Any]:
    document = write_definition(definition)
    for parts in (document, document.get("except_during", {})):
        if "ics" in parts:
            parts["ics"] = parts["ics"][:LOGGED_ICS]
    return document


def _row(one: CompiledCalendar, now: datetime) -> dict[str, Any]:
    is_open, calendar = one.calendar.is_open(now), one.calendar
    return {
        "id": one.definition.id,
        "name": one.definition.name,
        "timezone": one.definition.timezone,
        "open": is_open,
        "changes_at": calendar.closes_at(now) if is_open else calendar.opens_at(now),
        "compiled_until": one.until,
        "created_at": one.definition.created_at,
    }


CALENDARS = (put_calendar, list_calendars, get_calendar, list_calendar_uses, delete_calendar)
