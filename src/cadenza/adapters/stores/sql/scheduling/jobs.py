"""Jobs, and the endpoints that follow them."""

from collections.abc import Iterable

from cadenza.adapters.stores.common import already_exists, not_found, same_job, with_job_active
from cadenza.adapters.stores.sql.database import Connection, Database, wake_workers
from cadenza.adapters.stores.sql.scheduling.definition import JOB, read_job, write_job
from cadenza.adapters.stores.sql.scheduling.endpoints import GET_JOBS, LOCK_TENANT, EndpointTables, read_jobs
from cadenza.adapters.stores.sql.scheduling.labels_and_uses import drop_uses, put_job_uses
from cadenza.domain.scheduling.endpoint import Job
from cadenza.domain.scheduling.steer import EndpointChange
from cadenza.ports.catalog import FIRST_PAGE, JobChange, Page

COLUMNS = ", ".join(JOB)
INSERT = f"INSERT INTO jobs ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
ADD = f"{INSERT} ON CONFLICT DO NOTHING RETURNING id"
PUT = (
    f"{INSERT} ON CONFLICT (tenant_id, id) DO UPDATE SET"
    f" {', '.join(f'{column} = excluded.{column}' for column in JOB[2:])}"
)
LIST = f"SELECT {COLUMNS} FROM jobs WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3"
DROP = "DELETE FROM jobs WHERE tenant_id = $1 AND id = ANY ($2::text[])"
"""With their rules, which refer to them."""
# OFFSET 0 keeps PostgreSQL's planner from knowing that both rows are of one tenant: of a table that has just
# grown it believes that a tenant has a handful of rows, and would go through all of them for each.
WITH_STATE = (
    "CROSS JOIN LATERAL (SELECT s.* FROM endpoint_states s"
    " WHERE s.tenant_id = e.tenant_id AND s.endpoint_id = e.id OFFSET 0) AS s"
)
LIVE_OF_JOB = (
    f"SELECT e.id FROM endpoints e {WITH_STATE} WHERE e.tenant_id = $1 AND e.job_id = $2 AND NOT s.archived"
)
# CROSS JOIN, which tells SQLite to begin with the jobs and not with all endpoints of the tenant.
UNLIKE_JOBS = (
    "SELECT e.id FROM unnest($2::text[], $3::boolean[]) AS j (id, active)"
    f" CROSS JOIN endpoints e {WITH_STATE}"
    " WHERE e.tenant_id = $1 AND e.job_id = j.id AND s.job_active <> j.active"
)
"""Endpoints that do not follow their jobs yet."""


class SqlJobs:
    """Jobs. Each change locks the tenant first, so that no endpoint joins a job meanwhile."""

    def __init__(self, database: Database, endpoint_tables: EndpointTables) -> None:
        self._database = database
        self._endpoint_tables = endpoint_tables

    async def add_job(self, job: Job) -> None:
        async def work(connection: Connection) -> None:
            await connection.fetch(LOCK_TENANT, job.tenant_id)
            if not await connection.fetch(ADD, *write_job(job)):
                raise already_exists("job", job.id)
            await put_job_uses(connection, [job])
            await self._follow(connection, job.tenant_id, [job.id])

        await self._database.write(work)

    async def job(self, tenant_id: str, job_id: str) -> Job:
        for row in await self._database.read(GET_JOBS, tenant_id, [job_id]):
            return read_job(row, self._database.read_moment)
        raise not_found("job", job_id)

    async def jobs(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[Job]:
        rows = await self._database.read(LIST, tenant_id, page.after or "", page.limit)
        return await read_jobs(rows, self._database.read_moment)

    async def amend_job(self, tenant_id: str, job_id: str, change: JobChange) -> Job:
        async def work(connection: Connection) -> Job:
            before = await self._locked_job(connection, tenant_id, job_id)
            after = same_job(before, change(before))
            await connection.execute(PUT, *write_job(after))
            await put_job_uses(connection, [after])
            if after.active is not before.active:
                await self._follow(connection, tenant_id, [job_id])
                await wake_workers(connection, [tenant_id])
            return after

        return await self._database.write(work)

    async def remove_job(self, tenant_id: str, job_id: str, archive: EndpointChange) -> int:
        async def work(connection: Connection) -> int:
            job = await self._locked_job(connection, tenant_id, job_id)
            await connection.execute(DROP, tenant_id, [job_id])
            await drop_uses(connection, tenant_id, "job", [job_id])
            await self._follow(connection, tenant_id, [job_id])
            rows = await connection.fetch(LIVE_OF_JOB, tenant_id, job_id)
            live = await self._endpoint_tables.locked(connection, tenant_id, [row[0] for row in rows])
            await self._endpoint_tables.amend(connection, [(one, archive(one)) for one in live])
            if not job.active:
                await wake_workers(connection, [tenant_id])
            return len(live)

        return await self._database.write(work)

    async def _follow(self, connection: Connection, tenant_id: str, job_ids: Iterable[str]) -> None:
        """Switch the endpoints of jobs on and off with their jobs; the tenant is locked."""
        ids = list(job_ids)
        jobs = await self._endpoint_tables.jobs_by_id(connection, tenant_id, ids)
        active = [id_ not in jobs or jobs[id_].active for id_ in ids]
        rows = await connection.fetch(UNLIKE_JOBS, tenant_id, ids, active)
        endpoints = await self._endpoint_tables.locked(connection, tenant_id, [row[0] for row in rows])
        followers = [with_job_active(one, jobs.get(one.job_id)) for one in endpoints]
        await self._endpoint_tables.write_states(connection, followers)

    async def _locked_job(self, connection: Connection, tenant_id: str, job_id: str) -> Job:
        await connection.fetch(LOCK_TENANT, tenant_id)
        jobs = await self._endpoint_tables.jobs_by_id(connection, tenant_id, [job_id])
        if job_id not in jobs:
            raise not_found("job", job_id)
        return jobs[job_id]
