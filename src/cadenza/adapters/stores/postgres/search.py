"""Finding endpoints and closed runs."""

from datetime import UTC, datetime, timedelta
from typing import Any

from cadenza.adapters.stores.postgres import catalog_statements as sql
from cadenza.adapters.stores.postgres.arrays import as_it_is
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.sql.catalog_rows import found, looked_at, narrow, read_ended
from cadenza.adapters.stores.sql.rows import EPOCH, read_run
from cadenza.domain.planning.health import Ended
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.ports.catalog import EndpointFilter, Page, RunFilter, RunsFound

AFTER_ALL = "\U0010ffff"
"""Sorts behind every id."""
NEVER = datetime(9999, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def asked(tenant_id: str, wanted: EndpointFilter, page: Page) -> tuple[Any, ...]:
    """The statement that finds endpoints, with its arguments."""
    job_id, labels, archived = wanted
    statement = sql.find(len(labels), of_job=job_id is not None, archived=archived is not None)
    names = [word for label in labels.items() for word in label]
    narrowed = [one for one in (job_id, archived) if one is not None]
    return (statement, tenant_id, page.after or "", page.limit, *names, *narrowed)


async def find_runs(pool: PostgresPool, tenant_id: str, *, wanted: RunFilter, page: Page) -> RunsFound:
    """A tenant's closed runs, newest first."""
    begin = (tenant_id, page.after or AFTER_ALL)
    endpoint = [] if wanted.endpoint_id is None else [wanted.endpoint_id]
    # The floor comes first: runs that are added meanwhile are above it, and none is met twice.
    floor = await _floor(pool, begin, wanted) if narrow(wanted) else None
    rows = await pool.ask(
        sql.FIND_RUNS_OF_ENDPOINT if endpoint else sql.FIND_RUNS,
        *begin,
        floor or "",
        wanted.since or EPOCH,
        wanted.until or NEVER,
        wanted.job_id,
        [status.value for status in wanted.statuses] or None,
        [source.value for source in wanted.sources] or None,
        page.limit + 1,
        *endpoint,
    )
    return found([read_run(row, as_it_is) for row in rows], page, floor)


async def _floor(pool: PostgresPool, begin: tuple[str, str], wanted: RunFilter) -> str | None:
    endpoint = [] if wanted.endpoint_id is None else [wanted.endpoint_id]
    days = [] if wanted.since is None and wanted.until is None else _days(wanted)
    statement = sql.floor(of_endpoint=bool(endpoint), within=bool(days))
    for row in await pool.ask(statement, *begin, looked_at(wanted), *endpoint, *days):
        return str(row[0])
    return None


async def ended(pool: PostgresPool, key: EndpointKey, *, since: datetime, limit: int) -> list[Ended]:
    """How an endpoint's newest runs ended; they never overlap, so they are in the order of their ends."""
    rows = await pool.ask(sql.ENDED_SINCE, *key, midnight(since), limit, since)
    return read_ended(rows, as_it_is)


def _days(wanted: RunFilter) -> list[datetime]:
    """The whole days of a span: those that partitions hold, so that every run in them counts as looked at."""
    until = NEVER if wanted.until is None else midnight(wanted.until) + DAY
    return [EPOCH if wanted.since is None else midnight(wanted.since), until]


def midnight(moment: datetime) -> datetime:
    """When the day of a moment began, which is where a partition begins."""
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
