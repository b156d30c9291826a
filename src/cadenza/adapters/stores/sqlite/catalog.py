"""What an owner has, in a SQLite file."""

from datetime import datetime
from functools import partial

from cadenza.adapters.stores.memory.wakeup import Belfry
from cadenza.adapters.stores.sqlite import bulk_change as arranging
from cadenza.adapters.stores.sqlite import jobs
from cadenza.adapters.stores.sqlite import search as searching
from cadenza.adapters.stores.sqlite.database import SqliteFile
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


class SqliteCatalog:
    """Each method is one transaction of the file's single writer, or a read beside it."""

    _file: SqliteFile
    _ids: Ids
    _belfry: Belfry

    async def add_job(self, job: Job) -> None:
        await self._file.write(partial(jobs.add_job, job=job))

    async def job(self, tenant_id: str, job_id: str) -> Job:
        return await self._file.read(partial(jobs.get_job, tenant_id=tenant_id, job_id=job_id))

    async def jobs(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[Job]:
        return await self._file.read(partial(jobs.jobs, tenant_id=tenant_id, page=page))

    async def amend_job(self, tenant_id: str, job_id: str, change: JobChange) -> Job:
        work = partial(jobs.amend_job, tenant_id=tenant_id, job_id=job_id, change=change)
        job, switched = await self._file.write(work)
        self._ring_if(switched)
        return job

    async def remove_job(self, tenant_id: str, job_id: str, archive: EndpointChange) -> int:
        work = partial(jobs.remove_job, tenant_id=tenant_id, job_id=job_id, archive=archive, ids=self._ids)
        count, moved = await self._file.write(work)
        self._ring_if(moved)
        return count

    async def find(
        self, tenant_id: str, *, wanted: EndpointFilter = EVERY_ENDPOINT, page: Page = FIRST_PAGE
    ) -> list[Endpoint]:
        return await self._file.read(partial(searching.find, tenant_id=tenant_id, wanted=wanted, page=page))

    async def amend_all(
        self, tenant_id: str, change: EndpointChange, *, wanted: EndpointFilter, page: Page = FIRST_PAGE
    ) -> list[Amended]:
        work = partial(
            arranging.amend_all, tenant_id=tenant_id, change=change, wanted=wanted, page=page, ids=self._ids
        )
        amended, moved = await self._file.write(work)
        self._ring_if(moved)
        return amended

    async def arrange(self, tenant_id: str, extent: Extent, decide: Arrange) -> Arrangement:
        work = partial(arranging.arrange, tenant_id=tenant_id, extent=extent, decide=decide, ids=self._ids)
        decided, moved = await self._file.write(work)
        self._ring_if(moved)
        return decided

    async def find_runs(
        self, tenant_id: str, *, wanted: RunFilter = EVERY_RUN, page: Page = FIRST_PAGE
    ) -> RunsFound:
        work = partial(searching.find_runs, tenant_id=tenant_id, wanted=wanted, page=page)
        return await self._file.read(work)

    async def ended(self, key: EndpointKey, *, since: datetime, limit: int) -> list[Ended]:
        return await self._file.read(partial(searching.ended, key=key, since=since, limit=limit))

    def _ring_if(self, moved: bool) -> None:  # noqa: FBT001 - It reads as a sentence.
        if moved:
            self._belfry.ring()
