"""Calendars, with all that names them."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from cadenza.adapters.stores.common import (
    calendar_changed,
    calendar_in_use,
    not_found,
    too_many_calendars,
)
from cadenza.adapters.stores.memory.tables import MemoryTables
from cadenza.domain.scheduling.calendars.compile import CompiledCalendar
from cadenza.domain.scheduling.calendars.definition import MOST_CALENDARS, CalendarDefinition
from cadenza.domain.scheduling.calendars.following import calendar_ids, job_with_calendar
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.steer import ChangedEndpoint, EndpointChange
from cadenza.ports.calendars.calendar_store import CalendarUse
from cadenza.ports.catalog import FIRST_PAGE, Page


class MemoryCalendars:
    """Calendars by their tenants and ids."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def put_calendar(
        self,
        compiled: CompiledCalendar,
        follow: EndpointChange,
        *,
        instead_of: CalendarDefinition | None = None,
    ) -> CalendarDefinition | None:
        definition = compiled.definition
        key = definition.tenant_id, definition.id
        with self._lock:
            stored = self._tables.calendars.get(key)
            if stored is None and len(self._of_tenant(definition.tenant_id)) >= MOST_CALENDARS:
                raise too_many_calendars()
            before = None if stored is None else stored.definition
            if instead_of is not None and before != instead_of:
                raise calendar_changed(definition.id)
            amended = [follow(one) for one in self._naming(definition)]
            created_at = definition.created_at if before is None else before.created_at
            self._tables.calendars[key] = compiled._replace(
                definition=replace(definition, created_at=created_at)
            )
            self._write_followers(compiled, amended)
            return before

    async def calendar(self, tenant_id: str, calendar_id: str) -> CompiledCalendar:
        with self._lock:
            if (tenant_id, calendar_id) not in self._tables.calendars:
                raise not_found("calendar", calendar_id)
            return self._tables.calendars[tenant_id, calendar_id]

    async def calendars(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[CompiledCalendar]:
        with self._lock:
            mine = self._of_tenant(tenant_id)
        return [one for one in mine if one.definition.id > (page.after or "")][: page.limit]

    async def delete_calendar(self, tenant_id: str, calendar_id: str) -> CompiledCalendar:
        with self._lock:
            stored = await self.calendar(tenant_id, calendar_id)
            if used := self._uses(tenant_id, calendar_id):
                others = (one for one in used if one.kind != "endpoint")
                raise calendar_in_use(calendar_id, next(others, used[0]))
            del self._tables.calendars[tenant_id, calendar_id]
            return stored

    async def uses(self, tenant_id: str, calendar_id: str, page: Page = FIRST_PAGE) -> list[CalendarUse]:
        kind, _, id_ = (page.after or "").partition("/")
        with self._lock:
            used = self._uses(tenant_id, calendar_id)
        return [one for one in used if tuple(one) > (kind, id_)][: page.limit]

    async def compiled_until(self, until: datetime, limit: int) -> list[CompiledCalendar]:
        with self._lock:
            found = [one for one in self._tables.calendars.values() if one.until < until]
        found.sort(key=lambda one: (one.until, one.definition.tenant_id, one.definition.id))
        return found[:limit]

    def _of_tenant(self, tenant_id: str) -> list[CompiledCalendar]:
        found = [one for (owner, _), one in self._tables.calendars.items() if owner == tenant_id]
        return sorted(found, key=lambda one: one.definition.id)

    def _uses(self, tenant_id: str, calendar_id: str) -> list[CalendarUse]:
        used = [
            CalendarUse("endpoint", one.id)
            for one in self._tables.endpoints_of(tenant_id)
            if not one.archived and calendar_id in calendar_ids(one)
        ]
        used += [
            CalendarUse("job", job.id)
            for (owner, _), job in self._tables.jobs.items()
            if owner == tenant_id and calendar_id in {one.id for one in job.calendar_rules.calendars}
        ]
        used += [
            CalendarUse("programme", one.id)
            for one in self._tables.programmes.values()
            if one.tenant_id == tenant_id and calendar_id in {named.id for named in one.calendars}
        ]
        return sorted(used)

    def _naming(self, definition: CalendarDefinition) -> list[Endpoint]:
        mine = self._tables.endpoints_of(definition.tenant_id)
        return [one for one in mine if definition.id in calendar_ids(one)]

    def _write_followers(self, compiled: CompiledCalendar, amended: Iterable[ChangedEndpoint]) -> None:
        for (owner, _), job in list(self._tables.jobs.items()):
            if owner == compiled.definition.tenant_id:
                self._tables.jobs[owner, job.id] = job_with_calendar(job, compiled.calendar)
        for key, programme in list(self._tables.programmes.items()):
            if key.tenant_id == compiled.definition.tenant_id:
                self._tables.programmes[key] = programme.with_calendar(compiled.calendar)
        for one in amended:
            self._tables.amend_endpoint(one)
