"""The labels of endpoints, and which calendars endpoints and jobs name, by which they are found."""

from collections.abc import Iterable, Sequence

import orjson

from cadenza.adapters.stores.common import calendar_changed
from cadenza.adapters.stores.sql.database import Connection
from cadenza.adapters.stores.sql.given_rows import columns_of, parameter_table
from cadenza.adapters.stores.sql.scheduling.definition import LABEL, write_labels
from cadenza.adapters.stores.sql.scheduling.packed_calendar import read_calendar
from cadenza.domain.daily.programme import Programme
from cadenza.domain.scheduling.calendars.calendar import Calendar
from cadenza.domain.scheduling.calendars.following import calendar_ids, calendars_of
from cadenza.domain.scheduling.endpoint import Endpoint, Job

ADD_LABELS = (
    f"INSERT INTO endpoint_labels ({', '.join(LABEL)}) SELECT {', '.join(LABEL)}"
    f" FROM {parameter_table('g', *LABEL)} WHERE true ON CONFLICT DO NOTHING"
)
DROP_LABELS = (
    f"DELETE FROM endpoint_labels WHERE ({', '.join(LABEL)}) IN"
    f" (SELECT {', '.join(LABEL)} FROM {parameter_table('g', *LABEL)})"
)
USE = ("tenant_id", "calendar_id", "kind", "used_by_id")
ADD = (
    f"INSERT INTO calendar_uses ({', '.join(USE)}) SELECT {', '.join(USE)}"
    f" FROM {parameter_table('g', *USE)} WHERE true ON CONFLICT DO NOTHING"
)
DROP = (
    f"DELETE FROM calendar_uses WHERE ({', '.join(USE)}) IN"
    f" (SELECT {', '.join(USE)} FROM {parameter_table('g', *USE)})"
)
DROP_ALL_OF = "DELETE FROM calendar_uses WHERE tenant_id = $1 AND kind = $2 AND used_by_id = ANY ($3::text[])"
OF_CALENDAR = (
    "SELECT kind, used_by_id FROM calendar_uses AS u WHERE u.tenant_id = $1 AND u.calendar_id = $2"
    " AND (u.kind, u.used_by_id) > ($3, $4) AND NOT EXISTS (SELECT 1 FROM endpoint_states s"
    " WHERE u.kind = 'endpoint' AND s.tenant_id = u.tenant_id AND s.endpoint_id = u.used_by_id"
    " AND s.archived) ORDER BY u.kind, u.used_by_id LIMIT $5"
)
"""What uses a calendar; endpoints that were deleted do not."""
NAMING = "SELECT used_by_id FROM calendar_uses WHERE tenant_id = $1 AND calendar_id = $2 AND kind = $3"

CURRENT = (
    f"SELECT c.tenant_id, c.id, c.compiled FROM {parameter_table('g', 'tenant_id', 'id')}"
    " CROSS JOIN calendars c WHERE c.tenant_id = g.tenant_id AND c.id = g.id"
    " ORDER BY c.tenant_id, c.id FOR SHARE OF c"
)
"""Calendars as they are; they stay so until the commit."""

TextRow = tuple[str, ...]


async def add_labels_and_uses(connection: Connection, endpoints: Sequence[Endpoint]) -> None:
    """Write those of new endpoints; Conflict if one holds an older version of a calendar."""
    await _refuse_older(
        connection, ((one.tenant_id, named) for one in endpoints for named in calendars_of(one))
    )
    await _write(connection, ADD_LABELS, (row for one in endpoints for row in write_labels(one)))
    await _write(connection, ADD, (row for one in endpoints for row in _of_endpoint(one)))


async def change_labels_and_uses(connection: Connection, pairs: Sequence[tuple[Endpoint, Endpoint]]) -> None:
    """Write what endpoints have now and had not before, and delete what they had.

    Conflict if one was given an older version of a calendar, or if one that was deleted and is created
    again names a calendar that was deleted.
    """
    given = ((after, {*calendars_of(after)} - {*calendars_of(before)}) for before, after in pairs)
    await _refuse_older(connection, ((one.tenant_id, named) for one, new in given for named in new))
    created_again = [after for before, after in pairs if before.archived and not after.archived]
    for endpoint in created_again:
        named = ((endpoint.tenant_id, one) for one in calendars_of(endpoint))
        await _refuse_older(connection, named, deleted=True)
    for drop, add, rows_of in ((DROP_LABELS, ADD_LABELS, write_labels), (DROP, ADD, _of_endpoint)):
        rows = [(rows_of(before), rows_of(after)) for before, after in pairs]
        await _write(connection, drop, (row for old, new in rows for row in old - new))
        await _write(connection, add, (row for old, new in rows for row in new - old))
    # The uses of a deleted endpoint went with the calendar, also if there is an equal one again.
    await _write(connection, ADD, (row for one in created_again for row in _of_endpoint(one)))


async def put_job_uses(connection: Connection, jobs: Sequence[Job]) -> None:
    """Write what jobs of one tenant name, in place of what they named before; Conflict as above."""
    if not jobs:
        return
    named = ((job.tenant_id, one) for job in jobs for one in job.calendar_rules.calendars)
    await _refuse_older(connection, named)
    await drop_uses(connection, jobs[0].tenant_id, "job", [job.id for job in jobs])
    await _write(connection, ADD, (row for job in jobs for row in _of_job(job)))


async def put_programme_uses(connection: Connection, programme: Programme) -> None:
    """Write what a daily programme names, in place of what it named before; Conflict as above."""
    await _refuse_older(connection, ((programme.tenant_id, one) for one in programme.calendars))
    await drop_uses(connection, programme.tenant_id, "programme", [programme.id])
    named = (programme.tenant_id, "programme", programme.id)
    rows = [(named[0], one.id, *named[1:]) for one in programme.calendars]
    await _write(connection, ADD, rows)


async def _refuse_older(
    connection: Connection, named: Iterable[tuple[str, Calendar]], *, deleted: bool = False
) -> None:
    """Conflict if a calendar was written since it was looked up; if asked, also if it was deleted."""
    given = {*named}
    if not given:
        return
    keys = sorted({(tenant_id, one.id) for tenant_id, one in given})
    rows = await connection.fetch(CURRENT, *columns_of(keys))
    current = {(tenant_id, id_): read_calendar(orjson.loads(compiled)) for tenant_id, id_, compiled in rows}
    for tenant_id, one in given:
        stored = current.get((tenant_id, one.id))
        if deleted if stored is None else stored != one:
            raise calendar_changed(one.id)


async def drop_uses(connection: Connection, tenant_id: str, kind: str, ids: Sequence[str]) -> None:
    """Delete the uses of what is deleted for ever."""
    if ids:
        await connection.execute(DROP_ALL_OF, tenant_id, kind, list(ids))


def _of_endpoint(endpoint: Endpoint) -> set[TextRow]:
    return {(endpoint.tenant_id, id_, "endpoint", endpoint.id) for id_ in calendar_ids(endpoint)}


def _of_job(job: Job) -> set[TextRow]:
    return {(job.tenant_id, one.id, "job", job.id) for one in job.calendar_rules.calendars}


async def _write(connection: Connection, statement: str, rows: Iterable[TextRow]) -> None:
    given = sorted(set(rows))
    if given:
        await connection.execute(statement, *columns_of(given))
