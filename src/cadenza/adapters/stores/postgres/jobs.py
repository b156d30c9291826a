"""Jobs, and the endpoints that follow them, each change in one transaction."""

from collections.abc import Iterable, Sequence

from cadenza.adapters.stores.common import following, missing, same, taken
from cadenza.adapters.stores.postgres import catalog_statements as sql
from cadenza.adapters.stores.postgres.endpoints import jobs_by_id, locked, steer, write_amended
from cadenza.adapters.stores.postgres.pool import Connection
from cadenza.adapters.stores.postgres.statements import RING
from cadenza.adapters.stores.sql.catalog_rows import write_job
from cadenza.adapters.stores.sql.rule_statements import POSTGRES as RULES
from cadenza.domain.scheduling.endpoint import Job
from cadenza.domain.scheduling.steer import EndpointChange
from cadenza.ports.catalog import JobChange
from cadenza.ports.ids import Ids


async def add_job(connection: Connection, job: Job) -> None:
    """Keep a new job, and let endpoints that were there first follow it."""
    await connection.fetch(sql.HOLD_TENANT, job.tenant_id)
    if not await connection.fetch(sql.ADD_JOB, *write_job(job)):
        raise taken("job", job.id)
    await follow(connection, job.tenant_id, [job.id])


async def amend_job(connection: Connection, tenant_id: str, job_id: str, change: JobChange) -> Job:
    """Change a job, and with it its endpoints."""
    before = await _held(connection, tenant_id, job_id)
    after = same(before, change(before))
    await connection.execute(sql.PUT_JOB, *write_job(after))
    if after.active is not before.active:
        await follow(connection, tenant_id, [job_id])
        await connection.fetch(RING)
    return after


async def remove_job(
    connection: Connection, tenant_id: str, job_id: str, *, archive: EndpointChange, ids: Ids
) -> int:
    """Forget a job; how many endpoints took leave of it."""
    job = await _held(connection, tenant_id, job_id)
    await drop_jobs(connection, tenant_id, [job_id])
    await follow(connection, tenant_id, [job_id])
    rows = await connection.fetch(sql.LIVE_OF_JOB, tenant_id, job_id)
    leaving = await locked(connection, tenant_id, [row[0] for row in rows])
    await write_amended(connection, [(one, archive(one)) for one in leaving], ids)
    if not job.active:
        await connection.fetch(RING)
    return len(leaving)


async def drop_jobs(connection: Connection, tenant_id: str, job_ids: Sequence[str]) -> None:
    """Forget jobs with their rules; the tenant is held."""
    await connection.execute(sql.DROP_JOBS, tenant_id, list(job_ids))
    await connection.executemany(RULES.remove_of_job, [(tenant_id, job_id) for job_id in job_ids])


async def follow(connection: Connection, tenant_id: str, job_ids: Iterable[str]) -> None:
    """Let the endpoints of jobs stand as their jobs let them; the tenant is held."""
    ids = list(job_ids)
    jobs = await jobs_by_id(connection, tenant_id, ids)
    active = [id_ not in jobs or jobs[id_].active for id_ in ids]
    rows = await connection.fetch(sql.UNLIKE_JOBS, tenant_id, ids, active)
    endpoints = await locked(connection, tenant_id, [row[0] for row in rows])
    await steer(connection, [following(one, jobs.get(one.job_id)) for one in endpoints])


async def _held(connection: Connection, tenant_id: str, job_id: str) -> Job:
    await connection.fetch(sql.HOLD_TENANT, tenant_id)
    jobs = await jobs_by_id(connection, tenant_id, [job_id])
    if job_id not in jobs:
        raise missing("job", job_id)
    return jobs[job_id]
