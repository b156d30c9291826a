"""Audit records, added in the commit of what they are about."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar

import orjson

from cadenza.adapters.stores.common import not_found
from cadenza.adapters.stores.sql.database import BATCH, Connection, Database, delete_in_batches
from cadenza.adapters.stores.sql.large_results import in_batches, read_rows
from cadenza.adapters.stores.sql.rows import Read, Row, storable
from cadenza.domain.access.audit import (
    EVERY_RECORD,
    Actor,
    AuditFilter,
    AuditOutcome,
    AuditRecord,
    FieldChange,
)
from cadenza.domain.access.key import Surface
from cadenza.ports.access import AuditedWork
from cadenza.ports.catalog import FIRST_PAGE, Page

Done = TypeVar("Done")
RECORD = (
    "tenant_id, id, at, who, name, surface, operation, subject_kind, subject_id, reason, outcome, changes,"
    " definition"
)
ADD = f"INSERT INTO audit ({RECORD}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
GET = f"SELECT {RECORD} FROM audit WHERE tenant_id = $1 AND id = $2"
PLACE = "SELECT at, id FROM audit WHERE tenant_id = $1 AND id = $2"
CONDITIONS = """
    AND ($2::text IS NULL OR who = $2 OR name = $2) AND ($3::text IS NULL OR surface = $3)
    AND ($4::text IS NULL OR operation = $4)
"""
OF_SUBJECT = "AND subject_kind = $5 AND subject_id = $6"
OF_KIND = "AND ($5::text IS NULL OR subject_kind = $5) AND ($6::text IS NULL OR subject_id = $6)"
LIST = "SELECT {columns} FROM audit WHERE tenant_id = $1 {wanted}{places} ORDER BY at DESC, id DESC LIMIT $7"
DELETE_OLD = """
DELETE FROM audit WHERE (tenant_id, id) IN (
    SELECT tenant_id, id FROM audit WHERE at < $1 ORDER BY at LIMIT $2
) RETURNING id
"""


class SqlAudit:
    """Audit records by tenant."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def change_with_records(self, work: AuditedWork[Done]) -> Done:
        async def change_and_record() -> Done:
            done, records = await work()
            await self.add_records(records)
            return done

        return await self._database.in_one_commit(change_and_record)

    async def add_records(self, records: Sequence[AuditRecord]) -> None:
        if len(records) == 1:
            await self._database.ask(ADD, *_write(records[0]))
            return

        async def work(connection: Connection) -> None:
            for batch in in_batches(records):
                await connection.executemany(ADD, map(_write, batch))

        if records:
            await self._database.write(work)

    async def records(
        self, tenant_id: str, *, wanted: AuditFilter = EVERY_RECORD, page: Page = FIRST_PAGE
    ) -> list[AuditRecord]:
        who, surface, operation, kind, subject, since, until = wanted
        values: list[Any] = [tenant_id, who, surface, operation, kind, subject, page.limit]
        places = await self._places(tenant_id, page.after, since, until, values)
        if places is None:
            return []
        of = OF_KIND if kind is None or subject is None else OF_SUBJECT
        statement = LIST.format(columns=RECORD, wanted=f"{CONDITIONS}{of}", places=places)
        rows = await self._database.read(statement, *values)
        return await read_rows(rows, lambda row: _read(row, self._database.read_moment), text=12)

    async def record(self, tenant_id: str, record_id: str) -> AuditRecord:
        for row in await self._database.read(GET, tenant_id, record_id):
            return _read(row, self._database.read_moment)
        raise not_found("audit record", record_id)

    async def forget_records(self, before: datetime) -> int:
        return await delete_in_batches(self._database, DELETE_OLD, before, BATCH)

    async def _places(
        self,
        tenant_id: str,
        after: str | None,
        since: datetime | None,
        until: datetime | None,
        values: list[Any],
    ) -> str | None:
        """The bounds in time, of which the values are added; None if the record of the page is gone.

        A bound that is not there is not in the statement, so that an index finds the others.
        """
        text = ""
        for condition, bound in (("at >= ", since), ("at < ", until)):
            if bound is not None:
                values.append(bound)
                text += f" AND {condition}${len(values)}"
        if after is None:
            return text
        found = await self._database.read(PLACE, tenant_id, after)
        if not found:
            return None
        values += [self._database.read_moment(found[0][0]), after]
        return f"{text} AND (at, id) < (${len(values) - 1}, ${len(values)})"


def _write(record: AuditRecord) -> tuple[Any, ...]:
    actor, definition = record.actor, record.definition
    return (
        record.tenant_id,
        record.id,
        record.at,
        actor.who,
        actor.name,
        actor.surface.value,
        record.operation,
        record.subject_kind,
        record.subject_id,
        None if record.reason is None else storable(record.reason),
        record.outcome.value,
        orjson.dumps([list(change) for change in record.changes]).decode(),
        None if definition is None else orjson.dumps(definition).decode(),
    )


def _read(row: Row, read: Read) -> AuditRecord:
    tenant_id, id_, at, who, name, surface, operation, kind, subject, reason, outcome, changes, before = row
    return AuditRecord(
        id=id_,
        tenant_id=tenant_id,
        at=read(at),
        actor=Actor(who, name, Surface(surface)),
        operation=operation,
        subject_kind=kind,
        subject_id=subject,
        reason=reason,
        outcome=AuditOutcome(outcome),
        changes=tuple(FieldChange(*change) for change in orjson.loads(changes)),
        definition=None if before is None else orjson.loads(before),
    )
