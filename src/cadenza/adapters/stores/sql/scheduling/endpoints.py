"""Adding and changing endpoints, with all that a change records, inside a transaction."""

from collections.abc import Iterable, Sequence

from cadenza.adapters.stores.common import (
    already_exists,
    change_with_job_active,
    following_job,
    not_found,
    owners_of_prompts,
    wakes,
)
from cadenza.adapters.stores.sql.access.limit_rows import following_limits, with_limits
from cadenza.adapters.stores.sql.database import (
    ADVISORY_LOCK,
    Connection,
    Database,
    Dialect,
    wake_workers,
)
from cadenza.adapters.stores.sql.given_rows import assigned, columns_of, parameter_table
from cadenza.adapters.stores.sql.large_results import for_many, in_batches, read_rows
from cadenza.adapters.stores.sql.rows import (
    LIVE,
    OWNER_COLUMNS,
    SELECT_ENDPOINT,
    STATE_COLUMNS,
    Read,
    Row,
    read_endpoint,
    write_run,
    write_state,
)
from cadenza.adapters.stores.sql.scheduling.definition import (
    JOB,
    read_job,
    write_owner_columns,
)
from cadenza.adapters.stores.sql.scheduling.labels_and_uses import (
    add_labels_and_uses,
    change_labels_and_uses,
)
from cadenza.domain.access.tenant import too_many
from cadenza.domain.scheduling.due import claimable_at
from cadenza.domain.scheduling.endpoint import Endpoint, Job
from cadenza.domain.scheduling.run import Run, SkippedSlot, skipped_run
from cadenza.domain.scheduling.steer import ChangedEndpoint, HintRecord, definition_differs
from cadenza.ports.catalog import ANY, Admission
from cadenza.ports.ids import Ids

# An endpoint that comes into a job or gets a label waits for changes of jobs, or of many endpoints at once:
# one would miss the other. This lock comes before all others, and workers never take it.
LOCK_TENANT_SHARED = f"{ADVISORY_LOCK}_shared(hashtextextended('catalog' || E'\\n' || $1, 0))"
LOCK_TENANT = f"{ADVISORY_LOCK}(hashtextextended('catalog' || E'\\n' || $1, 0))"

GET = f"{SELECT_ENDPOINT} WHERE s.tenant_id = $1 AND s.endpoint_id = $2"
# Both rows: one that is not locked is read as it was before the wait.
GET_LOCKED = f"{GET} FOR UPDATE OF s, e"
GET_MANY_LOCKED = (
    f"{SELECT_ENDPOINT} JOIN unnest($1::text[], $2::text[]) AS k (tenant_id, id)"
    " ON s.tenant_id = k.tenant_id AND s.endpoint_id = k.id"
    " ORDER BY s.tenant_id, s.endpoint_id FOR UPDATE OF s, e"
)
GET_JOBS = f"SELECT {', '.join(JOB)} FROM jobs WHERE tenant_id = $1 AND id = ANY ($2::text[])"
LOCK_OWNER = {
    "user": "SELECT id FROM users WHERE tenant_id = $1 AND id = $2 FOR KEY SHARE",
    "agent": "SELECT id FROM agents WHERE tenant_id = $1 AND id = $2 FOR KEY SHARE",
}
COUNT_LIVE_UP_TO = (
    f"SELECT count(*) FROM (SELECT 1 FROM endpoint_states WHERE tenant_id = $1 AND {LIVE} LIMIT $2) AS live"
)

ADD_ENDPOINTS = (
    f"INSERT INTO endpoints ({', '.join(OWNER_COLUMNS)})"
    f" SELECT {', '.join(OWNER_COLUMNS[:-1])}, definition::json FROM {parameter_table('g', *OWNER_COLUMNS)}"
    " WHERE true ON CONFLICT DO NOTHING RETURNING id"
)
VERSION = {Dialect.POSTGRES: "(pg_current_xact_id()::text)::bigint", Dialect.SQLITE: "0"}
"""On PostgreSQL a version that no endpoint had before: not another one that was deleted and had the same id,
nor the same one before a dump was restored into its server. Workers remember definitions by it. SQLite's
workers remember by the id of the last run too, so there the versions of an endpoint may begin at 0.
"""
RANK = {
    Dialect.POSTGRES: "",
    Dialect.SQLITE: "(SELECT coalesce(max(rowid), 0) FROM endpoint_states) + row_number() OVER (),",
}
"""The order in which endpoints were added: PostgreSQL numbers rows by itself."""
ADD_STATES = {
    dialect: (
        f"INSERT INTO endpoint_states (tenant_id, endpoint_id,{' rank,' if rank else ''} version,"
        f" {', '.join(STATE_COLUMNS)}) SELECT g.tenant_id, g.endpoint_id, {rank} {VERSION[dialect]},"
        f" {', '.join(f'g.{column}' for column in STATE_COLUMNS)}"
        f" FROM {parameter_table('g', 'tenant_id', 'endpoint_id', *STATE_COLUMNS)}"
    )
    for dialect, rank in RANK.items()
}
UPDATE_ENDPOINTS = (
    f"UPDATE endpoints AS e SET {assigned('g', *OWNER_COLUMNS[2:-1])}, definition = g.definition::json"
    f" FROM {parameter_table('g', *OWNER_COLUMNS)} WHERE e.tenant_id = g.tenant_id AND e.id = g.id"
)
UPDATE_STATES = {
    Dialect.POSTGRES: (
        f"UPDATE endpoint_states AS s SET {assigned('g', *STATE_COLUMNS)},"
        f" version = greatest(s.version + 1, {VERSION[Dialect.POSTGRES]})"
        f" FROM {parameter_table('g', 'tenant_id', 'endpoint_id', *STATE_COLUMNS)}"
        " WHERE s.tenant_id = g.tenant_id AND s.endpoint_id = g.endpoint_id"
    ),
    Dialect.SQLITE: (
        "UPDATE endpoint_states SET"
        f" {', '.join(f'{column} = ${number}' for number, column in enumerate(STATE_COLUMNS, 3))},"
        " version = version + 1 WHERE tenant_id = $1 AND endpoint_id = $2"
    ),
}
"""A command changes one endpoint, nearly always: on SQLite a plain row takes half the time of a table of
one row. PostgreSQL takes all rows of a batch in one round trip."""
ADD_RUNS = (
    f"INSERT INTO runs ({', '.join(Run._fields)})"
    f" SELECT {', '.join(f'g.{column}' for column in Run._fields)} FROM {parameter_table('g', *Run._fields)}"
)
END_LEASES = (
    "UPDATE endpoint_states SET lease_token = NULL, lease_until = NULL, run_id = NULL"
    f" WHERE (tenant_id, endpoint_id) IN (SELECT g.tenant_id, g.endpoint_id FROM"
    f" {parameter_table('g', 'tenant_id', 'endpoint_id')})"
)
ADD_HINT = (
    f"INSERT INTO hints (tenant_id, endpoint_id, {', '.join(HintRecord._fields)})"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
)

Changed = tuple[Endpoint, ChangedEndpoint]
"""An endpoint as it was, and what becomes of it."""


class EndpointTables:
    """Endpoints, their states and labels, and what changes record, in the transaction of the caller."""

    def __init__(self, database: Database, ids: Ids) -> None:
        self._read = database.read_moment
        self._dialect = database.dialect
        self._ids = ids

    async def add(self, connection: Connection, endpoint: Endpoint, admission: Admission = ANY) -> None:
        """Add a new endpoint, if it is admitted; it follows its job from the start."""
        tenant_id, job_id = endpoint.tenant_id, endpoint.job_id
        await connection.fetch(LOCK_TENANT_SHARED if admission.most is None else LOCK_TENANT, tenant_id)
        job = (await self.jobs_by_id(connection, tenant_id, [job_id])).get(job_id)
        if admission.known_job and job is None:
            raise not_found("job", job_id)
        endpoint = following_job(endpoint, job)
        await self.add_all(connection, [endpoint])
        if admission.most is not None and endpoint.live:
            live = await connection.fetchval(COUNT_LIVE_UP_TO, tenant_id, admission.most + 1)
            if live > admission.most:
                raise too_many(admission.most)
        if claimable_at(endpoint) is not None:
            await wake_workers(connection, [tenant_id])

    async def add_all(self, connection: Connection, endpoints: Sequence[Endpoint]) -> None:
        """Add new endpoints that follow their jobs."""
        if not endpoints:
            return
        await _lock_owners(connection, endpoints)
        for batch in in_batches(await with_limits(connection, endpoints)):
            columns = await for_many(batch, lambda many: columns_of(map(write_owner_columns, many)))
            added = {row[0] for row in await connection.fetch(ADD_ENDPOINTS, *columns)}
            for endpoint in batch:
                if endpoint.id not in added:
                    raise already_exists("endpoint", endpoint.id)
            columns = await for_many(batch, lambda many: columns_of(_states(many)))
            await connection.execute(ADD_STATES[self._dialect], *columns)
            await add_labels_and_uses(connection, batch)

    async def amend(self, connection: Connection, changed: Sequence[Changed]) -> list[ChangedEndpoint]:
        """Write changes to locked rows with all that they record; wake workers if a next run has moved."""
        amended = await self._following_new_jobs(connection, changed)
        amended = await following_limits(connection, [before for before, _ in changed], amended)
        pairs = [(before, after.endpoint) for (before, _), after in zip(changed, amended, strict=True)]
        differing = await for_many(pairs, lambda many: [one for one in many if _is_redefined(*one)])
        await _write_definitions(connection, differing)
        await self.write_states(connection, [after for _, after in pairs])
        await self.record(connection, amended)
        await self._close_runs(connection, amended)
        await wake_workers(connection, [after.tenant_id for before, after in pairs if wakes(before, after)])
        return amended

    async def record(self, connection: Connection, amended: Iterable[ChangedEndpoint]) -> None:
        """Add what changes record: the runs of slots that passed, and the history of hints."""
        recorded = [one for one in amended if one.skipped or one.record]
        passed = [(one.endpoint, slot) for one in recorded for slot in one.skipped]
        for batch in in_batches(passed):
            await add_skipped_runs(connection, batch, self._ids)
        hints = [(*one.endpoint.key, *one.record) for one in recorded if one.record is not None]
        if hints:
            await connection.executemany(ADD_HINT, hints)

    async def _close_runs(self, connection: Connection, amended: Iterable[ChangedEndpoint]) -> None:
        """Close the open runs that changes end, and end their leases."""
        ended = [one for one in amended if one.closed is not None]
        if not ended:
            return
        await connection.execute(END_LEASES, *columns_of([one.endpoint.key for one in ended]))
        runs = [write_run(one.closed) for one in ended if one.closed is not None]
        await connection.execute(ADD_RUNS, *columns_of(runs))

    async def write_states(self, connection: Connection, endpoints: Sequence[Endpoint]) -> None:
        """Write the states of endpoints that are locked, under new versions."""
        if not endpoints:
            return
        if self._dialect is Dialect.SQLITE:
            await connection.executemany(UPDATE_STATES[self._dialect], _states(endpoints))
            return
        for batch in in_batches(endpoints):
            columns = await for_many(batch, lambda many: columns_of(_states(many)))
            await connection.execute(UPDATE_STATES[self._dialect], *columns)

    async def locked(self, connection: Connection, tenant_id: str, ids: Iterable[str]) -> list[Endpoint]:
        """Those endpoints that exist, locked and fresh, in the order of their ids."""
        keys = [(tenant_id, id_) for id_ in ids]
        rows = await connection.fetch(GET_MANY_LOCKED, *columns_of(keys)) if keys else []
        return await read_endpoints(rows, self._read)

    async def jobs_by_id(
        self, connection: Connection, tenant_id: str, job_ids: Iterable[str]
    ) -> dict[str, Job]:
        """Those jobs that exist."""
        rows = await connection.fetch(GET_JOBS, tenant_id, list(job_ids))
        return {job.id: job for job in await read_jobs(rows, self._read)}

    async def _following_new_jobs(
        self, connection: Connection, changed: Sequence[Changed]
    ) -> list[ChangedEndpoint]:
        moving = {after.endpoint.job_id for before, after in changed if _moves(before, after)}
        if not moving:
            return [after for _, after in changed]
        jobs = await self.jobs_by_id(connection, changed[0][0].tenant_id, moving)
        return [
            change_with_job_active(after, jobs.get(after.endpoint.job_id)) if _moves(before, after) else after
            for before, after in changed
        ]


async def read_endpoints(rows: Sequence[Row], read: Read) -> list[Endpoint]:
    """The endpoints of rows selected as `ENDPOINT_COLUMNS`."""
    return await read_rows(rows, lambda row: read_endpoint(row, read), text=OWNER_COLUMNS.index("definition"))


async def read_jobs(rows: Sequence[Row], read: Read) -> list[Job]:
    """The jobs of rows selected as `JOB`."""
    return await read_rows(rows, lambda row: read_job(row, read), text=JOB.index("metadata"))


async def add_skipped_runs(
    connection: Connection, passed: Iterable[tuple[Endpoint, SkippedSlot]], ids: Ids
) -> None:
    """Add the runs of slots that passed without a claim."""
    runs = [write_run(skipped_run(endpoint, slot, ids.new())) for endpoint, slot in passed]
    if runs:
        await connection.execute(ADD_RUNS, *columns_of(runs))


def _moves(before: Endpoint, after: ChangedEndpoint) -> bool:
    return after.endpoint.job_id != before.job_id


def _is_redefined(before: Endpoint, after: Endpoint) -> bool:
    if before.archived and not after.archived:
        return True
    return after.calendar_rules != before.calendar_rules or definition_differs(before, after)


def _states(endpoints: Iterable[Endpoint]) -> list[tuple[object, ...]]:
    return [(*endpoint.key, *write_state(endpoint)) for endpoint in endpoints]


async def _lock_owners(connection: Connection, endpoints: Iterable[Endpoint]) -> None:
    """NotFound, unless the users and agents of prompts exist; they then do until the commit."""
    for kind, tenant_id, id_ in owners_of_prompts(endpoints):
        if not await connection.fetch(LOCK_OWNER[kind], tenant_id, id_):
            raise not_found(kind, id_)


async def _write_definitions(connection: Connection, pairs: Sequence[tuple[Endpoint, Endpoint]]) -> None:
    if not pairs:
        return
    await _lock_owners(connection, [after for before, after in pairs if after.target != before.target])
    for batch in in_batches(pairs):
        columns = await for_many(
            batch, lambda many: columns_of([write_owner_columns(after) for _, after in many])
        )
        await connection.execute(UPDATE_ENDPOINTS, *columns)
        await change_labels_and_uses(connection, batch)
