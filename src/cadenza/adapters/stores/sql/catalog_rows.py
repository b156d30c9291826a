"""Jobs and labels as rows, and back; and what both databases search runs by."""

from collections.abc import Sequence
from typing import Any

from cadenza.adapters.stores.sql.definition import write_definition
from cadenza.adapters.stores.sql.rows import STATUSES, Read, Row
from cadenza.domain.planning.health import Ended
from cadenza.domain.scheduling.endpoint import Endpoint, Job
from cadenza.domain.scheduling.run import Run
from cadenza.ports.catalog import Page, RunFilter, RunsFound

JOB = ("tenant_id", "id", "name", "active", "description", "applied", "created_at")
ENDED = ("finished_at", "status", "duration_ms", "late_ms")
LABEL = ("tenant_id", "name", "value", "endpoint_id")

SCAN, SCATTERED_SCAN = 20_000, 5_000
"""So many runs are looked at for one answer: what is rare is found page by page, and nobody waits long.

Those of one endpoint lie scattered among all others, each in a place of its own.
"""


def write_job(job: Job) -> tuple[Any, ...]:
    """The columns `JOB`."""
    return (job.tenant_id, job.id, job.name, job.active, job.description, job.applied, job.created_at)


def read_job(row: Row, read: Read) -> Job:
    """The job of a row selected as `JOB`."""
    tenant_id, id_, name, active, description, applied, created_at = row
    return Job(
        id=id_,
        name=name,
        tenant_id=tenant_id,
        active=bool(active),
        description=description,
        applied=bool(applied),
        created_at=read(created_at),
    )


def write_owned(endpoint: Endpoint) -> tuple[str | None, ...]:
    """What its owner wrote: the columns of `endpoints`."""
    owned = (endpoint.job_id, endpoint.name, endpoint.description, write_definition(endpoint))
    return (*endpoint.key, *owned)


def write_labels(endpoint: Endpoint) -> set[tuple[str, ...]]:
    """The rows `LABEL` of an endpoint."""
    return {(endpoint.tenant_id, *label, endpoint.id) for label in endpoint.labels.items()}


def read_ended(rows: Sequence[Row], read: Read) -> list[Ended]:
    """The ends of runs in rows selected as `ENDED`; column by column, as there may be ten thousand."""
    if not rows:
        return []
    finished, statuses, durations, late = zip(*rows, strict=True)
    return list(map(Ended, map(read, finished), map(STATUSES.__getitem__, statuses), durations, late))


def narrow(wanted: RunFilter) -> bool:
    """Is more asked for than an index tells, so that many runs may have to be looked at?"""
    return any(wanted[1:])


def looked_at(wanted: RunFilter) -> int:
    """How many runs may be looked at."""
    return SCAN if wanted.endpoint_id is None else SCATTERED_SCAN


def found(runs: list[Run], page: Page, floor: str | None) -> RunsFound:
    """An answer from one run more than was asked for, all of them not below the floor of the search."""
    if len(runs) > page.limit:
        return RunsFound(runs[: page.limit], runs[page.limit - 1].id)
    return RunsFound(runs, floor)
