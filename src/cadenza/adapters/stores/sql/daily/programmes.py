"""Daily programmes, as JSON documents beside their keys."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import orjson

from cadenza.adapters.stores.common import not_found
from cadenza.adapters.stores.sql.database import Connection, Database
from cadenza.adapters.stores.sql.rows import Read, Row
from cadenza.adapters.stores.sql.scheduling.definition import read_programme_target, write_programme_target
from cadenza.adapters.stores.sql.scheduling.endpoints import LOCK_TENANT
from cadenza.adapters.stores.sql.scheduling.labels_and_uses import NAMING, drop_uses, put_programme_uses
from cadenza.adapters.stores.sql.scheduling.packed_calendar import read_calendar, write_calendar
from cadenza.domain.daily.keys import DAILY, ProgrammeKey
from cadenza.domain.daily.programme import DAILY_PROGRAMME, Programme, refuse_to_delete, refuse_too_many
from cadenza.domain.scheduling.calendars.calendar import Calendar
from cadenza.ports.catalog import FIRST_PAGE, Page

PROGRAMME = "tenant_id, id, definition, created_at"
GET = f"SELECT {PROGRAMME} FROM daily_programmes WHERE tenant_id = $1 AND id = $2"
LOCK = "SELECT id FROM daily_programmes WHERE tenant_id = $1 AND id = $2 FOR KEY SHARE"
COUNT = "SELECT count(*) FROM daily_programmes WHERE tenant_id = $1 AND id <> $2"
PUT = f"""
INSERT INTO daily_programmes ({PROGRAMME}) VALUES ($1, $2, $3, $4)
ON CONFLICT (tenant_id, id) DO UPDATE SET definition = excluded.definition RETURNING {PROGRAMME}
"""
CHANGE = "UPDATE daily_programmes SET definition = $3 WHERE tenant_id = $1 AND id = $2"
LIST = f"SELECT {PROGRAMME} FROM daily_programmes WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3"
LIST_ALL = f"""
SELECT {PROGRAMME} FROM daily_programmes WHERE (tenant_id, id) > ($1, $2) ORDER BY tenant_id, id LIMIT $3
"""
DELETE = "DELETE FROM daily_programmes WHERE tenant_id = $1 AND id = $2 RETURNING id"
A_USER = "SELECT user_id FROM daily_users WHERE tenant_id = $1 AND programme_id = $2 LIMIT 1"
A_VERDICT = "SELECT user_id FROM daily_verdicts WHERE tenant_id = $1 AND programme_id = $2 LIMIT 1"
A_GAP = "SELECT user_id FROM daily_gaps WHERE tenant_id = $1 AND programme_id = $2 LIMIT 1"
DELETE_VERDICTS = "DELETE FROM daily_verdicts WHERE tenant_id = $1 AND programme_id = $2"
DELETE_GAPS = "DELETE FROM daily_gaps WHERE tenant_id = $1 AND programme_id = $2"
KIND = "programme"
"""What programmes are called among the uses of calendars."""
PLAIN = (
    *("name", "window_minutes", "retry_delay_minutes", "job_timeout_ms", "share_percent", "weekdays"),
    "resets_conversation",
)
CALENDARS = ("only_during", "never_during")


class SqlProgrammes:
    """Programmes. Each change locks the tenant first."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put_programme(self, programme: Programme) -> Programme:
        async def work(connection: Connection) -> Programme:
            await connection.fetch(LOCK_TENANT, programme.tenant_id)
            refuse_too_many(await connection.fetchval(COUNT, *programme.key))
            await put_programme_uses(connection, programme)
            row = await connection.fetchrow(PUT, *_write(programme))
            assert row is not None, "it was written"
            return read_programme(row, self._database.read_moment)

        return await self._database.write(work)

    async def programme(self, key: ProgrammeKey) -> Programme:
        for row in await self._database.read(GET, *key):
            return read_programme(row, self._database.read_moment)
        if key.id == DAILY:
            return Programme(tenant_id=key.tenant_id)
        raise not_found("programme", key.id)

    async def programmes(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[Programme]:
        rows = await self._database.read(LIST, tenant_id, page.after or "", page.limit)
        return [read_programme(row, self._database.read_moment) for row in rows]

    async def all_programmes(self, *, limit: int, after: ProgrammeKey | None = None) -> list[Programme]:
        rows = await self._database.read(LIST_ALL, *(after or ("", "")), limit)
        return [read_programme(row, self._database.read_moment) for row in rows]

    async def delete_programme(self, key: ProgrammeKey, *, with_days: bool = False) -> None:
        async def work(connection: Connection) -> None:
            await connection.fetch(LOCK_TENANT, key.tenant_id)
            if not await connection.fetch(DELETE, *key):
                raise not_found("programme", key.id)
            await drop_uses(connection, key.tenant_id, KIND, [key.id])
            if key.id != DAILY:
                await _empty(connection, key, with_days=with_days)

        await self._database.write(work)


async def _empty(connection: Connection, key: ProgrammeKey, *, with_days: bool) -> None:
    """Conflict if it has users, or days that are not to be deleted; whoever enrols waits for this."""
    found = [bool(await connection.fetch(statement, *key)) for statement in (A_USER, A_VERDICT, A_GAP)]
    refuse_to_delete(key.id, has_users=found[0], has_days=any(found[1:]) and not with_days)
    if with_days:
        await connection.execute(DELETE_VERDICTS, *key)
        await connection.execute(DELETE_GAPS, *key)


async def programmes_follow(connection: Connection, tenant_id: str, calendar: Calendar) -> None:
    """Write the programmes that name a calendar, with its new version; the tenant is locked."""
    for (id_,) in await connection.fetch(NAMING, tenant_id, calendar.id, KIND):
        for _, _, definition, _ in await connection.fetch(GET, tenant_id, id_):
            programme = Programme(tenant_id=tenant_id, id=id_, **_parts(definition)).with_calendar(calendar)
            await connection.execute(CHANGE, *_write(programme)[:3])


async def check_programmes(connection: Connection, keys: Iterable[ProgrammeKey]) -> None:
    """NotFound unless these exist; they are not deleted before the transaction ends."""
    for key in sorted(keys):
        if key.id != DAILY and not await connection.fetch(LOCK, *key):
            raise not_found("programme", key.id)


def _write(programme: Programme) -> tuple[Any, ...]:
    plain = {name: getattr(programme, name) for name in PLAIN}
    document = {name: value for name, value in plain.items() if value != getattr(DAILY_PROGRAMME, name)}
    document |= {
        name: write_calendar(calendar)
        for name in CALENDARS
        if (calendar := getattr(programme, name)) is not None
    }
    if programme.target is not None:
        document["target"] = write_programme_target(programme.target)
    return (*programme.key, orjson.dumps(document).decode(), programme.created_at)


def read_programme(row: Row, read: Read) -> Programme:
    """The programme of a row selected as `PROGRAMME`."""
    tenant_id, id_, definition, created_at = row
    return Programme(tenant_id=tenant_id, id=id_, created_at=read(created_at), **_parts(definition))


@lru_cache(maxsize=4_096)
def _parts(definition: str) -> dict[str, Any]:
    """The fields in a document; remembered, as daily runners read them every tick."""
    document = orjson.loads(definition)
    parts = {name: document[name] for name in PLAIN if name in document}
    parts |= {name: read_calendar(document[name]) for name in CALENDARS if name in document}
    if "target" in document:
        parts["target"] = read_programme_target(document["target"])
    return parts
