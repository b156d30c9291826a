"""Jobs, and the endpoints that follow them, inside the writer's transaction."""

import sqlite3
from collections.abc import Iterable

from cadenza.adapters.stores.common import following, missing, same, taken
from cadenza.adapters.stores.sql.catalog_rows import read_job, write_job
from cadenza.adapters.stores.sql.rows import from_micros, read_endpoint, write_state
from cadenza.adapters.stores.sql.rule_statements import SQLITE as RULES
from cadenza.adapters.stores.sqlite import catalog_statements as sql
from cadenza.adapters.stores.sqlite.endpoints import find_job, write_amended
from cadenza.adapters.stores.sqlite.settle import in_micros
from cadenza.adapters.stores.sqlite.statements import STEER
from cadenza.domain.scheduling.endpoint import Job
from cadenza.domain.scheduling.steer import EndpointChange
from cadenza.ports.catalog import JobChange, Page
from cadenza.ports.ids import Ids


def add_job(connection: sqlite3.Connection, job: Job) -> None:
    """Keep a new job, and let endpoints that were there first follow it."""
    try:
        connection.execute(sql.ADD_JOB, in_micros(write_job(job)))
    except sqlite3.IntegrityError:
        raise taken("job", job.id) from None
    follow(connection, job.tenant_id, [job.id])


def get_job(connection: sqlite3.Connection, tenant_id: str, job_id: str) -> Job:
    """The job as it stands."""
    job = find_job(connection, tenant_id, job_id)
    if job is None:
        raise missing("job", job_id)
    return job


def jobs(connection: sqlite3.Connection, tenant_id: str, page: Page) -> list[Job]:
    """A tenant's jobs."""
    rows = connection.execute(sql.JOBS, (tenant_id, page.after or "", page.limit))
    return [read_job(row, from_micros) for row in rows]


def amend_job(
    connection: sqlite3.Connection, tenant_id: str, job_id: str, change: JobChange
) -> tuple[Job, bool]:
    """Change a job, and with it its endpoints; also tells whether it was switched."""
    before = get_job(connection, tenant_id, job_id)
    after = same(before, change(before))
    connection.execute(sql.PUT_JOB, in_micros(write_job(after)))
    switched = after.active is not before.active
    if switched:
        follow(connection, tenant_id, [job_id])
    return after, switched


def remove_job(
    connection: sqlite3.Connection, tenant_id: str, job_id: str, *, archive: EndpointChange, ids: Ids
) -> tuple[int, bool]:
    """Forget a job; how many endpoints took leave of it, and whether something may be due earlier."""
    job = get_job(connection, tenant_id, job_id)
    drop_job(connection, tenant_id, job_id)
    follow(connection, tenant_id, [job_id])
    moved = not job.active
    rows = connection.execute(sql.LIVE_OF_JOB, (tenant_id, job_id)).fetchall()
    for row in rows:
        before = read_endpoint(row, from_micros)
        amended = archive(before)
        moved |= write_amended(connection, before, amended, ids=ids)[1]
    return len(rows), moved


def drop_job(connection: sqlite3.Connection, tenant_id: str, job_id: str) -> None:
    """Forget a job with its rules."""
    connection.execute(sql.DROP_JOB, (tenant_id, job_id))
    connection.execute(RULES.remove_of_job, (tenant_id, job_id))


def follow(connection: sqlite3.Connection, tenant_id: str, job_ids: Iterable[str]) -> None:
    """Let the endpoints of jobs stand as their jobs let them."""
    for job_id in job_ids:
        job = find_job(connection, tenant_id, job_id)
        active = job is None or job.active
        rows = connection.execute(sql.UNLIKE_JOB, (tenant_id, job_id, active)).fetchall()
        stand = [following(read_endpoint(row, from_micros), job) for row in rows]
        connection.executemany(STEER, [in_micros((*write_state(one), *one.key)) for one in stand])
