"""Adding and changing endpoints, each in one transaction."""

from collections.abc import Iterable, Sequence
from functools import partial

from cadenza.adapters.stores.common import followed, following, missing, taken
from cadenza.adapters.stores.postgres import catalog_statements as catalog
from cadenza.adapters.stores.postgres import statements as sql
from cadenza.adapters.stores.postgres.arrays import arrays, as_it_is
from cadenza.adapters.stores.postgres.pool import Connection, PostgresPool
from cadenza.adapters.stores.postgres.settle import add_passed
from cadenza.adapters.stores.sql.catalog_rows import read_job, write_labels, write_owned
from cadenza.adapters.stores.sql.rows import read_endpoint, write_state
from cadenza.domain.access.tenant import too_many
from cadenza.domain.scheduling.due import claimable_at
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey, Job
from cadenza.domain.scheduling.steer import Amended, EndpointChange, defined_anew
from cadenza.ports.catalog import ANY, Admission
from cadenza.ports.ids import Ids

Changed = tuple[Endpoint, Amended]
"""An endpoint as it was, and what becomes of it."""


class Regrouped(Exception):
    """A change puts an endpoint among others than before: who works on groups must stand still for it."""


async def add(connection: Connection, endpoint: Endpoint, admission: Admission = ANY) -> None:
    """Keep a new endpoint, if it is admitted; it follows its job from the start."""
    tenant_id, job_id = endpoint.tenant_id, endpoint.job_id
    await connection.fetch(catalog.JOIN_TENANT if admission.most is None else catalog.HOLD_TENANT, tenant_id)
    job = (await jobs_by_id(connection, tenant_id, [job_id])).get(job_id)
    if admission.known_job and job is None:
        raise missing("job", job_id)
    kept = following(endpoint, job)
    await add_all(connection, [kept])
    if admission.most is not None and kept.live:
        live = await connection.fetchval(catalog.COUNT_LIVE_UP_TO, tenant_id, admission.most + 1)
        if live > admission.most:
            raise too_many(admission.most)
    if claimable_at(kept) is not None:
        await connection.fetch(sql.RING)


async def add_all(connection: Connection, endpoints: Sequence[Endpoint]) -> None:
    """Keep new endpoints that follow their jobs."""
    if not endpoints:
        return
    rows = await connection.fetch(sql.ADD_ENDPOINTS, *arrays(map(write_owned, endpoints)))
    added = {row[0] for row in rows}
    for endpoint in endpoints:
        if endpoint.id not in added:
            raise taken("endpoint", endpoint.id)
    await connection.execute(sql.ADD_STATE, *arrays([(*one.key, *write_state(one)) for one in endpoints]))
    await _label(connection, catalog.ADD_LABELS, *map(write_labels, endpoints))


async def amend(pool: PostgresPool, key: EndpointKey, *, change: EndpointChange, ids: Ids) -> Amended:
    """Apply a change to the fresh row, with all that it records."""
    work = partial(_amend, key=key, change=change, ids=ids)
    try:
        return await pool.write(partial(work, joined=False))
    except Regrouped:
        return await pool.write(partial(work, joined=True))


async def _amend(
    connection: Connection, key: EndpointKey, *, change: EndpointChange, ids: Ids, joined: bool
) -> Amended:
    if joined:
        await connection.fetch(catalog.JOIN_TENANT, key.tenant_id)
    row = await connection.fetchrow(sql.GET_LOCKED, *key)
    if row is None:
        raise missing("endpoint", key.id)
    before = read_endpoint(row, as_it_is)
    amended = change(before)
    if not joined and _groups(amended.endpoint) != _groups(before):
        raise Regrouped
    (amended,) = await write_amended(connection, [(before, amended)], ids)
    return amended


def _groups(endpoint: Endpoint) -> tuple[object, ...]:
    """What endpoints are found by together."""
    return (endpoint.job_id, endpoint.labels, endpoint.archived)


async def write_amended(connection: Connection, changed: Sequence[Changed], ids: Ids) -> list[Amended]:
    """Write changes to locked rows with all that they record, and ring if a next run has moved."""
    amended = await _following_new_jobs(connection, changed)
    pairs = [(before, after.endpoint) for (before, _), after in zip(changed, amended, strict=True)]
    await _define(connection, [pair for pair in pairs if defined_anew(*pair)])
    await steer(connection, [after for _, after in pairs])
    await record(connection, amended, ids)
    if any(before.next_run_at != after.next_run_at for before, after in pairs):
        await connection.fetch(sql.RING)
    return amended


async def record(connection: Connection, amended: Iterable[Amended], ids: Ids) -> None:
    """Keep what changes record: the runs of slots that passed, and the history of hints."""
    told = [one for one in amended if one.skipped or one.record]
    await add_passed(connection, [(one.endpoint, slot) for one in told for slot in one.skipped], ids)
    hints = [(*one.endpoint.key, *one.record) for one in told if one.record is not None]
    if hints:
        await connection.executemany(sql.ADD_HINT, hints)


async def steer(connection: Connection, endpoints: Sequence[Endpoint]) -> None:
    """Write where endpoints stand that are locked."""
    if endpoints:
        rows = [(*endpoint.key, *write_state(endpoint)) for endpoint in endpoints]
        await connection.execute(sql.STEER, *arrays(rows))


async def locked(connection: Connection, tenant_id: str, ids: Iterable[str]) -> list[Endpoint]:
    """Those endpoints that are there, locked and fresh, in the order of their ids."""
    keys = [(tenant_id, id_) for id_ in ids]
    rows = await connection.fetch(sql.GET_MANY_LOCKED, *arrays(keys)) if keys else []
    return [read_endpoint(row, as_it_is) for row in rows]


async def jobs_by_id(connection: Connection, tenant_id: str, job_ids: Iterable[str]) -> dict[str, Job]:
    """Those jobs that somebody made."""
    rows = await connection.fetch(catalog.GET_JOBS, tenant_id, list(job_ids))
    return {job.id: job for job in (read_job(row, as_it_is) for row in rows)}


async def _following_new_jobs(connection: Connection, changed: Sequence[Changed]) -> list[Amended]:
    moving = {after.endpoint.job_id for before, after in changed if after.endpoint.job_id != before.job_id}
    if not moving:
        return [after for _, after in changed]
    jobs = await jobs_by_id(connection, changed[0][0].tenant_id, moving)
    return [
        after if after.endpoint.job_id == before.job_id else followed(after, jobs.get(after.endpoint.job_id))
        for before, after in changed
    ]


async def _define(connection: Connection, pairs: Sequence[tuple[Endpoint, Endpoint]]) -> None:
    if not pairs:
        return
    await connection.execute(sql.DEFINE, *arrays([write_owned(after) for _, after in pairs]))
    labels = [(write_labels(before), write_labels(after)) for before, after in pairs]
    await _label(connection, catalog.DROP_LABELS, *(old - new for old, new in labels))
    await _label(connection, catalog.ADD_LABELS, *(new - old for old, new in labels))


async def _label(connection: Connection, statement: str, *labels: Iterable[tuple[str, ...]]) -> None:
    rows = [row for of_endpoint in labels for row in of_endpoint]
    if rows:
        await connection.execute(statement, *arrays(rows))
