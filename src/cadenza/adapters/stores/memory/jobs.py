"""Jobs in a dictionary, and the endpoints that follow them."""

from cadenza.adapters.stores.common import following, missing, same, taken
from cadenza.adapters.stores.memory.tables import Shelves
from cadenza.domain.scheduling.endpoint import Job
from cadenza.domain.scheduling.steer import EndpointChange
from cadenza.ports.catalog import FIRST_PAGE, JobChange, Page


class MemoryJobs(Shelves):
    """Groups of endpoints."""

    async def add_job(self, job: Job) -> None:
        with self._lock:
            if (job.tenant_id, job.id) in self._jobs:
                raise taken("job", job.id)
            self._put_job(job)

    async def job(self, tenant_id: str, job_id: str) -> Job:
        with self._lock:
            return self._get_job(tenant_id, job_id)

    async def jobs(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[Job]:
        with self._lock:
            ids = sorted(id_ for owner, id_ in self._jobs if owner == tenant_id)
            later = [id_ for id_ in ids if page.after is None or id_ > page.after]
            return [self._jobs[tenant_id, id_] for id_ in later[: page.limit]]

    async def amend_job(self, tenant_id: str, job_id: str, change: JobChange) -> Job:
        with self._lock:
            before = self._get_job(tenant_id, job_id)
            after = same(before, change(before))
            self._put_job(after)
            if after.active is not before.active:
                self._belfry.ring()
            return after

    async def remove_job(self, tenant_id: str, job_id: str, archive: EndpointChange) -> int:
        with self._lock:
            job = self._get_job(tenant_id, job_id)
            of_job = [one for one in self._of_tenant(tenant_id) if one.job_id == job_id]
            amended = [archive(one) for one in of_job if not one.archived]
            self._drop_job(tenant_id, job_id)
            for one in amended:
                self._write(one)
            if not job.active:
                self._belfry.ring()
            return len(amended)

    def _get_job(self, tenant_id: str, job_id: str) -> Job:
        try:
            return self._jobs[tenant_id, job_id]
        except KeyError:
            raise missing("job", job_id) from None

    def _put_job(self, job: Job) -> None:
        self._jobs[job.tenant_id, job.id] = job
        self._follow(job.tenant_id, job.id)

    def _drop_job(self, tenant_id: str, job_id: str) -> None:
        self._jobs.pop((tenant_id, job_id), None)
        for key, rule in list(self._rules.items()):
            if (rule.tenant_id, rule.job_id) == (tenant_id, job_id):
                del self._rules[key]
        self._follow(tenant_id, job_id)

    def _follow(self, tenant_id: str, job_id: str) -> None:
        job = self._jobs.get((tenant_id, job_id))
        for endpoint in self._of_tenant(tenant_id):
            if endpoint.job_id == job_id:
                self._put(following(endpoint, job))
