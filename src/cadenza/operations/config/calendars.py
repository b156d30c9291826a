"""The calendars of a configuration: what a file wants of them, what it changes, and what then follows."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from cadenza.domain.errors import Fault, InvalidRequest, LimitReached
from cadenza.domain.scheduling.calendars.calendar import Calendar
from cadenza.domain.scheduling.calendars.compile import CompiledCalendar
from cadenza.domain.scheduling.calendars.definition import MOST_CALENDARS, CalendarDefinition
from cadenza.domain.scheduling.calendars.following import follow_calendar, job_with_calendar
from cadenza.operations.config.changes import Action, Decision, Difference
from cadenza.operations.context import RequestContext
from cadenza.operations.documented_models import part
from cadenza.operations.scheduling.calendars.calendars import compile_now, note_calendar
from cadenza.operations.scheduling.calendars.config_schemas import ConfigCalendar, without_ics
from cadenza.operations.scheduling.calendars.schemas import definition_of
from cadenza.operations.scheduling.endpoint_parts.baselines import find_calendars
from cadenza.ports.catalog import BulkState, Page

ALL = Page(MOST_CALENDARS + 1)
LONGEST_FILE = 1 << 23


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedCalendars:
    """What a file changes of the calendars."""

    named: int = 0
    """How many the file has."""
    written: Sequence[CompiledCalendar] = ()
    """Those that are new or different."""
    removed: Sequence[CalendarDefinition] = ()
    differences: Sequence[Difference] = ()
    planning: Mapping[str, Any] = field(default_factory=dict)

    async def find(self, context: RequestContext, ids: set[str]) -> dict[str, Calendar]:
        """The calendars with these ids, as they will be when the file has been applied."""
        gone = {one.id for one in self.removed}
        stored = await find_calendars(context, ids - gone)
        return stored | {one.definition.id: one.calendar for one in self.written}

    def followed(self, current: BulkState) -> BulkState:
        """Jobs and endpoints with the calendars of the file; as they are once those are written."""
        jobs, endpoints = dict(current.jobs), dict(current.endpoints)
        for calendar in (one.calendar for one in self.written):
            jobs = {id_: job_with_calendar(job, calendar) for id_, job in jobs.items()}
            endpoints = {
                id_: follow_calendar(one, calendar=calendar, **self.planning).endpoint
                for id_, one in endpoints.items()
            }
        return current._replace(jobs=jobs, endpoints=endpoints) if self.written else current

    def added_to(self, decision: Decision) -> Decision:
        """The decision with the differences of calendars, and those that stay as they are counted."""
        unchanged = decision.unchanged + self.named - len(self.written)
        return decision._replace(differences=[*self.differences, *decision.differences], unchanged=unchanged)


NO_CHANGES = ChangedCalendars()


async def calendar_changes(
    context: RequestContext, entries: Sequence[ConfigCalendar] | None, *, prune: bool
) -> ChangedCalendars:
    """What a file changes of the calendars; nothing if it has no section of them.

    Those that it does not name stay, unless they are pruned.
    """
    if entries is None:
        return NO_CHANGES
    stored = await context.store.calendars.calendars(context.tenant_id, ALL)
    before = {one.definition.id: one.definition for one in stored}
    wanted, written = await _wanted(context, entries, before)
    gone = [one for id_, one in before.items() if prune and id_ not in wanted]
    if len(before | wanted) - len(gone) > MOST_CALENDARS:
        raise LimitReached(f"A tenant may have at most {MOST_CALENDARS} calendars.")
    changed = [_difference(one.definition, before.get(one.definition.id)) for one in written]
    deleted = [Difference(Action.DELETE, "calendar", one.id, without_ics(one)) for one in gone]
    return ChangedCalendars(
        named=len(wanted),
        written=written,
        removed=gone,
        differences=[*changed, *deleted],
        planning=context.dependencies.planning_context(),
    )


async def _wanted(
    context: RequestContext, entries: Sequence[ConfigCalendar], before: Mapping[str, CalendarDefinition]
) -> tuple[dict[str, CalendarDefinition], list[CompiledCalendar]]:
    """The calendars of a file, and of those that change the spans; InvalidRequest with all faults."""
    counts, faults = Counter(one.id for one in entries), list[Fault]()
    wanted, written = dict[str, CalendarDefinition](), list[CompiledCalendar]()
    for place, entry in enumerate(entries):
        path = f"calendars.{place}"
        if counts[entry.id] > 1:
            faults.append(Fault(f"{path}.id", f"This file has the calendar {entry.id} more than once."))
        make = partial(definition_of, entry, tenant_id=context.tenant_id, calendar_id=entry.id)
        try:
            wanted[entry.id] = part(path, make)
            if wanted[entry.id] != before.get(entry.id):
                written.append(await _compiled(context, wanted[entry.id], path))
        except InvalidRequest as problem:
            faults += problem.faults
    if faults:
        raise InvalidRequest(faults[0].sentence, faults[0].field, faults)
    return wanted, written


async def _compiled(context: RequestContext, definition: CalendarDefinition, path: str) -> CompiledCalendar:
    """A calendar, compiled; a refusal has the path of the part at fault."""
    now = context.dependencies.clock.now()
    try:
        return await compile_now(context, replace(definition, created_at=now))
    except InvalidRequest as problem:
        at = path if problem.field in (None, "calendar") else f"{path}.{problem.field}"
        raise InvalidRequest(problem.message, at) from None


def _difference(wanted: CalendarDefinition, before: CalendarDefinition | None) -> Difference:
    if before is None:
        return Difference(Action.CREATE, "calendar", wanted.id, None, without_ics(wanted))
    return Difference(Action.UPDATE, "calendar", wanted.id, without_ics(before), without_ics(wanted))


async def write_calendars(context: RequestContext, changes: ChangedCalendars) -> None:
    """Write what differs, and let all that names it follow, in the commit of the caller."""
    for one in changes.written:
        follow = partial(follow_calendar, calendar=one.calendar, **changes.planning)
        before = await context.store.calendars.put_calendar(one, follow)
        note_calendar(context, one.definition, before)


async def remove_calendars(context: RequestContext, removed: Iterable[CalendarDefinition]) -> None:
    """Delete what is pruned, in the commit of the caller; Conflict if something names it still."""
    for one in removed:
        await context.store.calendars.delete_calendar(context.tenant_id, one.id)
        note_calendar(context, None, one)


async def stored_calendars(context: RequestContext) -> list[ConfigCalendar]:
    """A tenant's calendars as a file has them; InvalidRequest if their ICS files are too long for one."""
    stored = await context.store.calendars.calendars(context.tenant_id, ALL)
    if sum(len(text) for one in stored for text in one.definition.ics_texts) > LONGEST_FILE:
        raise InvalidRequest(f"The calendars have more than {LONGEST_FILE:,} bytes: too many for one file.")
    return [ConfigCalendar.of_definition(one.definition) for one in stored]
