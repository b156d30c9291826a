"""Adding and changing endpoints and jobs, each in one transaction."""

from dataclasses import replace

from cadenza.adapters.sql.definition import write_definition
from cadenza.adapters.sql.postgres import statements as sql
from cadenza.adapters.sql.postgres.arrays import arrays
from cadenza.adapters.sql.postgres.pool import Connection
from cadenza.adapters.sql.postgres.reading import as_it_is
from cadenza.adapters.sql.postgres.settling import add_passed
from cadenza.adapters.sql.rows import read_endpoint, write_state
from cadenza.domain.creation import defined_anew
from cadenza.domain.due import claimable_at
from cadenza.domain.endpoint import Endpoint, EndpointKey, evolve
from cadenza.domain.errors import Conflict, NotFound
from cadenza.domain.job import Job
from cadenza.domain.steer import Amended, Change
from cadenza.ports.ids import Ids


async def add(connection: Connection, endpoint: Endpoint) -> None:
    """Keep a new endpoint; it follows its job from the start."""
    of_job = (endpoint.tenant_id, endpoint.job_id)
    await connection.fetch(sql.JOIN_JOB, *of_job)
    job = await connection.fetchrow(sql.JOB, *of_job)
    kept = evolve(endpoint, job_active=job is None or job[3])
    if not await connection.fetch(sql.ADD_ENDPOINT, *_owned(kept)):
        raise Conflict(f"There is an endpoint {endpoint.id} already.")
    await connection.execute(sql.ADD_STATE, *arrays([(*kept.key, *write_state(kept))]))
    if claimable_at(kept) is not None:
        await connection.fetch(sql.RING)


async def amend(connection: Connection, key: EndpointKey, change: Change, ids: Ids) -> Amended:
    """Apply a change to the fresh row, with all that it records."""
    row = await connection.fetchrow(sql.GET_LOCKED, *key)
    if row is None:
        raise NotFound(f"There is no endpoint {key.id}.")
    before = read_endpoint(row, as_it_is)
    amended = change(before)
    after = amended.endpoint
    if defined_anew(before, after):
        await connection.execute(sql.DEFINE, *_owned(after))
    await steer(connection, [after])
    await add_passed(connection, [(after, slot) for slot in amended.skipped], ids)
    if amended.record is not None:
        await connection.execute(sql.ADD_HINT, *key, *amended.record)
    if after.next_run_at != before.next_run_at:
        await connection.fetch(sql.RING)
    return amended


async def steer(connection: Connection, endpoints: list[Endpoint]) -> None:
    """Write where endpoints stand that are locked."""
    if endpoints:
        rows = [(*endpoint.key, *write_state(endpoint)) for endpoint in endpoints]
        await connection.execute(sql.STEER, *arrays(rows))


async def add_job(connection: Connection, job: Job) -> None:
    """Keep a new job, and let endpoints that were there first follow it."""
    await connection.fetch(sql.HOLD_JOB, job.tenant_id, job.id)
    if not await connection.fetch(sql.ADD_JOB, job.tenant_id, job.id, job.name, job.active):
        raise Conflict(f"There is a job {job.id} already.")
    await _follow(connection, job)


async def get_job(connection: Connection, tenant_id: str, job_id: str) -> Job:
    """The job as it stands."""
    row = await connection.fetchrow(sql.JOB, tenant_id, job_id)
    if row is None:
        raise NotFound(f"There is no job {job_id}.")
    id_, name, owner, active = row
    return Job(id=id_, name=name, tenant_id=owner, active=active)


async def activate(connection: Connection, tenant_id: str, job_id: str, *, active: bool) -> Job:
    """Switch a job, and with it its endpoints."""
    await connection.fetch(sql.HOLD_JOB, tenant_id, job_id)
    job = replace(await get_job(connection, tenant_id, job_id), active=active)
    await connection.execute(sql.ACTIVATE, tenant_id, job_id, active)
    await _follow(connection, job)
    await connection.fetch(sql.RING)
    return job


async def _follow(connection: Connection, job: Job) -> None:
    rows = await connection.fetch(sql.OF_JOB, job.tenant_id, job.id)
    await steer(connection, [evolve(read_endpoint(row, as_it_is), job_active=job.active) for row in rows])


def _owned(endpoint: Endpoint) -> tuple[str | None, ...]:
    owned = (endpoint.job_id, endpoint.name, endpoint.description, write_definition(endpoint))
    return (*endpoint.key, *owned)
