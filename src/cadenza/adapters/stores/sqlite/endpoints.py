"""Adding and changing endpoints, inside the writer's transaction."""

import sqlite3

from cadenza.adapters.stores.common import followed, following, missing, taken
from cadenza.adapters.stores.sql.catalog_rows import read_job, write_labels, write_owned
from cadenza.adapters.stores.sql.rows import from_micros, read_endpoint, write_state
from cadenza.adapters.stores.sqlite import statements as sql
from cadenza.adapters.stores.sqlite.catalog_statements import (
    ADD_LABEL,
    COUNT_LIVE_UP_TO,
    DROP_LABEL,
    GET_JOB,
)
from cadenza.adapters.stores.sqlite.settle import add_passed, in_micros
from cadenza.domain.access.tenant import too_many
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey, Job
from cadenza.domain.scheduling.steer import Amended, EndpointChange, defined_anew
from cadenza.ports.catalog import ANY, Admission
from cadenza.ports.ids import Ids


def add(connection: sqlite3.Connection, endpoint: Endpoint, admission: Admission = ANY) -> None:
    """Keep a new endpoint, if it is admitted; it follows its job from the start."""
    job = find_job(connection, endpoint.tenant_id, endpoint.job_id)
    if admission.known_job and job is None:
        raise missing("job", endpoint.job_id)
    kept = following(endpoint, job)
    try:
        connection.execute(sql.ADD_ENDPOINT, write_owned(kept))
    except sqlite3.IntegrityError:
        raise taken("endpoint", endpoint.id) from None
    connection.execute(sql.ADD_STATE, in_micros((*kept.key, *write_state(kept))))
    connection.executemany(ADD_LABEL, write_labels(kept))
    if admission.most is not None and kept.live:
        _refuse_surplus(connection, kept.tenant_id, admission.most)


def get(connection: sqlite3.Connection, key: EndpointKey) -> Endpoint:
    """The endpoint as it stands."""
    row = connection.execute(sql.GET, key).fetchone()
    if row is None:
        raise missing("endpoint", key.id)
    return read_endpoint(row, from_micros)


def amend(
    connection: sqlite3.Connection, key: EndpointKey, change: EndpointChange, ids: Ids
) -> tuple[Amended, bool]:
    """Apply a change; also tells whether the next run has moved."""
    before = get(connection, key)
    return write_amended(connection, before, change(before), ids=ids)


def write_amended(
    connection: sqlite3.Connection, before: Endpoint, amended: Amended, *, ids: Ids
) -> tuple[Amended, bool]:
    """Write a change with all that it records; also tells whether the next run has moved."""
    if amended.endpoint.job_id != before.job_id:
        amended = followed(amended, find_job(connection, before.tenant_id, amended.endpoint.job_id))
    after = amended.endpoint
    if defined_anew(before, after):
        tenant_id, id_, *owned = write_owned(after)
        connection.execute(sql.DEFINE, (*owned, tenant_id, id_))
        old, new = write_labels(before), write_labels(after)
        connection.executemany(DROP_LABEL, old - new)
        connection.executemany(ADD_LABEL, new - old)
    connection.execute(sql.STEER, in_micros((*write_state(after), *after.key)))
    add_passed(connection, after, amended.skipped, ids)
    if amended.record is not None:
        connection.execute(sql.ADD_HINT, in_micros((*after.key, *amended.record)))
    return amended, after.next_run_at != before.next_run_at


def find_job(connection: sqlite3.Connection, tenant_id: str, job_id: str) -> Job | None:
    """The job as it stands, if somebody made it."""
    row = connection.execute(GET_JOB, (tenant_id, job_id)).fetchone()
    return None if row is None else read_job(row, from_micros)


def _refuse_surplus(connection: sqlite3.Connection, tenant_id: str, most: int) -> None:
    (live,) = connection.execute(COUNT_LIVE_UP_TO, (tenant_id, most + 1)).fetchone()
    if live > most:
        raise too_many(most)
