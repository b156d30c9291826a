"""Calendars: written with all that names them in one commit."""

from dataclasses import replace
from datetime import datetime

import orjson

from cadenza.adapters.stores.common import (
    calendar_changed,
    calendar_in_use,
    not_found,
    too_many_calendars,
)
from cadenza.adapters.stores.sql.daily.programmes import programmes_follow
from cadenza.adapters.stores.sql.database import Connection, Database
from cadenza.adapters.stores.sql.large_results import beside_loop, for_many
from cadenza.adapters.stores.sql.rows import Read, Row
from cadenza.adapters.stores.sql.scheduling.definition import write_job
from cadenza.adapters.stores.sql.scheduling.endpoints import LOCK_TENANT, EndpointTables
from cadenza.adapters.stores.sql.scheduling.jobs import PUT as PUT_JOB
from cadenza.adapters.stores.sql.scheduling.labels_and_uses import NAMING, OF_CALENDAR
from cadenza.adapters.stores.sql.scheduling.packed_calendar import read_calendar, write_calendar
from cadenza.domain.scheduling.calendars.compile import CompiledCalendar
from cadenza.domain.scheduling.calendars.definition import (
    MOST_CALENDARS,
    CalendarDefinition,
    read_definition,
    write_definition,
)
from cadenza.domain.scheduling.calendars.following import job_with_calendar
from cadenza.domain.scheduling.steer import EndpointChange
from cadenza.ports.calendars.calendar_store import CalendarUse
from cadenza.ports.catalog import FIRST_PAGE, Page

CALENDAR = ("tenant_id", "id", "definition", "compiled", "compiled_until", "created_at")
COLUMNS = ", ".join(CALENDAR)
GET = f"SELECT {COLUMNS} FROM calendars WHERE tenant_id = $1 AND id = $2"
LIST = f"SELECT {COLUMNS} FROM calendars WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3"
UNTIL = (
    f"SELECT {COLUMNS} FROM calendars WHERE compiled_until < $1"
    " ORDER BY compiled_until, tenant_id, id LIMIT $2"
)
COUNT = "SELECT count(*) FROM calendars WHERE tenant_id = $1"
PUT = (
    f"INSERT INTO calendars ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (tenant_id, id) DO UPDATE"
    " SET definition = excluded.definition, compiled = excluded.compiled,"
    " compiled_until = excluded.compiled_until"
)
AFTER_ENDPOINTS = "f"
"""Sorts behind the kind of endpoints, and before those of jobs and programmes."""
DROP = "DELETE FROM calendars WHERE tenant_id = $1 AND id = $2"
DROP_USES = "DELETE FROM calendar_uses WHERE tenant_id = $1 AND calendar_id = $2"


class SqlCalendars:
    """Calendars. Each change locks the tenant first, so that nothing names one meanwhile."""

    def __init__(self, database: Database, endpoint_tables: EndpointTables) -> None:
        self._database = database
        self._endpoint_tables = endpoint_tables

    async def put_calendar(
        self,
        compiled: CompiledCalendar,
        follow: EndpointChange,
        *,
        instead_of: CalendarDefinition | None = None,
    ) -> CalendarDefinition | None:
        async def work(connection: Connection) -> CalendarDefinition | None:
            tenant_id, id_ = compiled.definition.tenant_id, compiled.definition.id
            await connection.fetch(LOCK_TENANT, tenant_id)
            before = await self._stored(connection, tenant_id, id_)
            if before is None and await connection.fetchval(COUNT, tenant_id) >= MOST_CALENDARS:
                raise too_many_calendars()
            if instead_of is not None and before != instead_of:
                raise calendar_changed(id_)
            await connection.execute(PUT, *_row(compiled))
            if before is not None:
                await self._follow(connection, compiled, follow)
            return before

        return await self._database.write(work)

    async def calendar(self, tenant_id: str, calendar_id: str) -> CompiledCalendar:
        found = await self._read(GET, tenant_id, calendar_id)
        if not found:
            raise not_found("calendar", calendar_id)
        return found[0]

    async def calendars(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[CompiledCalendar]:
        return await self._read(LIST, tenant_id, page.after or "", page.limit)

    async def delete_calendar(self, tenant_id: str, calendar_id: str) -> CompiledCalendar:
        async def work(connection: Connection) -> CompiledCalendar:
            await connection.fetch(LOCK_TENANT, tenant_id)
            rows = await connection.fetch(GET, tenant_id, calendar_id)
            if not rows:
                raise not_found("calendar", calendar_id)
            for after in (AFTER_ENDPOINTS, ""):
                for use in await connection.fetch(OF_CALENDAR, tenant_id, calendar_id, after, "", 1):
                    raise calendar_in_use(calendar_id, CalendarUse(*use))
            await connection.execute(DROP, tenant_id, calendar_id)
            await connection.execute(DROP_USES, tenant_id, calendar_id)
            return _read(rows[0], self._database.read_moment)

        return await self._database.write(work)

    async def uses(self, tenant_id: str, calendar_id: str, page: Page = FIRST_PAGE) -> list[CalendarUse]:
        kind, _, id_ = (page.after or "").partition("/")
        rows = await self._database.read(OF_CALENDAR, tenant_id, calendar_id, kind, id_, page.limit)
        return [CalendarUse(*row) for row in rows]

    async def compiled_until(self, until: datetime, limit: int) -> list[CompiledCalendar]:
        return await self._read(UNTIL, until, limit)

    async def _read(self, statement: str, *values: object) -> list[CompiledCalendar]:
        """The calendars of a statement; they unpack to a thousand times their length, so beside the loop."""
        rows, read = await self._database.read(statement, *values), self._database.read_moment
        return await beside_loop(lambda: [_read(row, read) for row in rows]) if rows else []

    async def _stored(self, connection: Connection, tenant_id: str, id_: str) -> CalendarDefinition | None:
        rows = await connection.fetch(GET, tenant_id, id_)
        return _read(rows[0], self._database.read_moment).definition if rows else None

    async def _follow(
        self, connection: Connection, compiled: CompiledCalendar, follow: EndpointChange
    ) -> None:
        """Write the jobs, programmes and endpoints that name a calendar, with its new version."""
        tenant_id, tables = compiled.definition.tenant_id, self._endpoint_tables
        named = [
            [row[0] for row in await connection.fetch(NAMING, tenant_id, compiled.definition.id, kind)]
            for kind in ("job", "endpoint")
        ]
        jobs = await tables.jobs_by_id(connection, tenant_id, named[0])
        changed = [job_with_calendar(job, compiled.calendar) for job in jobs.values()]
        if changed:
            await connection.executemany(PUT_JOB, [write_job(job) for job in changed])
        await programmes_follow(connection, tenant_id, compiled.calendar)
        endpoints = await tables.locked(connection, tenant_id, named[1])
        amended = await for_many(endpoints, lambda many: [(one, follow(one)) for one in many])
        await tables.amend(connection, amended)


def _row(compiled: CompiledCalendar) -> tuple[object, ...]:
    definition = compiled.definition
    return (
        definition.tenant_id,
        definition.id,
        orjson.dumps(write_definition(definition)).decode(),
        orjson.dumps(write_calendar(compiled.calendar)).decode(),
        compiled.until,
        definition.created_at,
    )


def _read(row: Row, read: Read) -> CompiledCalendar:
    """The calendar of a row selected as `CALENDAR`."""
    tenant_id, id_, definition, compiled, until, created_at = row
    written = read_definition(orjson.loads(definition), tenant_id=tenant_id, calendar_id=id_)
    calendar = read_calendar(orjson.loads(compiled))
    moment = read(until)
    assert moment is not None, "a calendar is compiled until a moment"
    return CompiledCalendar(replace(written, created_at=read(created_at)), calendar, moment)
