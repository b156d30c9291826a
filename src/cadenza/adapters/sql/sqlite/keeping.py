"""Adding and changing endpoints and jobs, inside the writer's transaction."""

import sqlite3
from dataclasses import replace

from cadenza.adapters.sql.definition import write_definition
from cadenza.adapters.sql.rows import from_micros, read_endpoint, write_state
from cadenza.adapters.sql.sqlite import statements as sql
from cadenza.adapters.sql.sqlite.settling import add_passed, in_micros
from cadenza.domain.creation import defined_anew
from cadenza.domain.endpoint import Endpoint, EndpointKey, evolve
from cadenza.domain.errors import Conflict, NotFound
from cadenza.domain.job import Job
from cadenza.domain.steer import Amended, Change
from cadenza.ports.ids import Ids


def add(connection: sqlite3.Connection, endpoint: Endpoint) -> None:
    """Keep a new endpoint; it follows its job from the start."""
    job = connection.execute(sql.JOB, (endpoint.tenant_id, endpoint.job_id)).fetchone()
    kept = evolve(endpoint, job_active=job is None or bool(job[3]))
    owned = (kept.job_id, kept.name, kept.description, write_definition(kept))
    try:
        connection.execute(sql.ADD_ENDPOINT, (*kept.key, *owned))
    except sqlite3.IntegrityError:
        raise Conflict(f"There is an endpoint {endpoint.id} already.") from None
    connection.execute(sql.ADD_STATE, in_micros((*kept.key, *write_state(kept))))


def get(connection: sqlite3.Connection, key: EndpointKey) -> Endpoint:
    """The endpoint as it stands."""
    row = connection.execute(sql.GET, key).fetchone()
    if row is None:
        raise NotFound(f"There is no endpoint {key.id}.")
    return read_endpoint(row, from_micros)


def amend(connection: sqlite3.Connection, key: EndpointKey, change: Change, ids: Ids) -> tuple[Amended, bool]:
    """Apply a change; also tells whether the next run has moved."""
    before = get(connection, key)
    amended = change(before)
    after = amended.endpoint
    if defined_anew(before, after):
        owned = (after.job_id, after.name, after.description, write_definition(after))
        connection.execute(sql.DEFINE, (*owned, *key))
    connection.execute(sql.STEER, in_micros((*write_state(after), *key)))
    add_passed(connection, after, amended.skipped, ids)
    if amended.record is not None:
        connection.execute(sql.ADD_HINT, in_micros((*key, *amended.record)))
    return amended, after.next_run_at != before.next_run_at


def add_job(connection: sqlite3.Connection, job: Job) -> None:
    """Keep a new job, and let endpoints that were there first follow it."""
    try:
        connection.execute(sql.ADD_JOB, (job.tenant_id, job.id, job.name, job.active))
    except sqlite3.IntegrityError:
        raise Conflict(f"There is a job {job.id} already.") from None
    _follow(connection, job)


def get_job(connection: sqlite3.Connection, tenant_id: str, job_id: str) -> Job:
    """The job as it stands."""
    row = connection.execute(sql.JOB, (tenant_id, job_id)).fetchone()
    if row is None:
        raise NotFound(f"There is no job {job_id}.")
    id_, name, owner, active = row
    return Job(id=id_, name=name, tenant_id=owner, active=bool(active))


def activate(connection: sqlite3.Connection, tenant_id: str, job_id: str, *, active: bool) -> Job:
    """Switch a job, and with it its endpoints."""
    job = replace(get_job(connection, tenant_id, job_id), active=active)
    connection.execute(sql.ACTIVATE, (active, tenant_id, job_id))
    _follow(connection, job)
    return job


def _follow(connection: sqlite3.Connection, job: Job) -> None:
    rows = connection.execute(sql.OF_JOB, (job.tenant_id, job.id)).fetchall()
    followed = [evolve(read_endpoint(row, from_micros), job_active=job.active) for row in rows]
    connection.executemany(
        sql.STEER, [in_micros((*write_state(endpoint), *endpoint.key)) for endpoint in followed]
    )
