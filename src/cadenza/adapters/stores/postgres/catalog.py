"""What an owner has, in PostgreSQL."""

from datetime import datetime
from functools import partial

from cadenza.adapters.stores.common import missing
from cadenza.adapters.stores.postgres import bulk_change as arranging
from cadenza.adapters.stores.postgres import catalog_statements as sql
from cadenza.adapters.stores.postgres import jobs
from cadenza.adapters.stores.postgres import search as searching
from cadenza.adapters.stores.postgres.arrays import as_it_is
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.sql.catalog_rows import read_job
from cadenza.adapters.stores.sql.rows import read_endpoint
from cadenza.domain.planning.health import Ended
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey, Job
from cadenza.domain.scheduling.steer import Amended, EndpointChange
from cadenza.ports.catalog import (
    EVERY_ENDPOINT,
    EVERY_RUN,
    FIRST_PAGE,
    Arrange,
    Arrangement,
    EndpointFilter,
    Extent,
    JobChange,
    Page,
    RunFilter,
    RunsFound,
)
from cadenza.ports.ids import Ids


class PostgresCatalog:
    """Each method is one commit, or reads what is committed."""

    _pool: PostgresPool
    _ids: Ids

    async def add_job(self, job: Job) -> None:
        await self._pool.write(partial(jobs.add_job, job=job))

    async def job(self, tenant_id: str, job_id: str) -> Job:
        for row in await self._pool.ask(sql.GET_JOBS, tenant_id, [job_id]):
            return read_job(row, as_it_is)
        raise missing("job", job_id)

    async def jobs(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[Job]:
        rows = await self._pool.ask(sql.JOBS, tenant_id, page.after or "", page.limit)
        return [read_job(row, as_it_is) for row in rows]

    async def amend_job(self, tenant_id: str, job_id: str, change: JobChange) -> Job:
        work = partial(jobs.amend_job, tenant_id=tenant_id, job_id=job_id, change=change)
        return await self._pool.write(work)

    async def remove_job(self, tenant_id: str, job_id: str, archive: EndpointChange) -> int:
        work = partial(jobs.remove_job, tenant_id=tenant_id, job_id=job_id, archive=archive, ids=self._ids)
        return await self._pool.write(work)

    async def find(
        self, tenant_id: str, *, wanted: EndpointFilter = EVERY_ENDPOINT, page: Page = FIRST_PAGE
    ) -> list[Endpoint]:
        rows = await self._pool.ask(*searching.asked(tenant_id, wanted, page))
        return [read_endpoint(row, as_it_is) for row in rows]

    async def amend_all(
        self, tenant_id: str, change: EndpointChange, *, wanted: EndpointFilter, page: Page = FIRST_PAGE
    ) -> list[Amended]:
        work = partial(
            arranging.amend_all, tenant_id=tenant_id, change=change, wanted=wanted, page=page, ids=self._ids
        )
        return await self._pool.write(work)

    async def arrange(self, tenant_id: str, extent: Extent, decide: Arrange) -> Arrangement:
        work = partial(arranging.arrange, tenant_id=tenant_id, extent=extent, decide=decide, ids=self._ids)
        return await self._pool.write(work)

    async def find_runs(
        self, tenant_id: str, *, wanted: RunFilter = EVERY_RUN, page: Page = FIRST_PAGE
    ) -> RunsFound:
        return await searching.find_runs(self._pool, tenant_id, wanted=wanted, page=page)

    async def ended(self, key: EndpointKey, *, since: datetime, limit: int) -> list[Ended]:
        return await searching.ended(self._pool, key, since=since, limit=limit)
