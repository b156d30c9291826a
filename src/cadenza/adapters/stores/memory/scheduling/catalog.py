"""Jobs, and a tenant's endpoints and runs, listed and changed together."""

from collections import ChainMap
from itertools import islice

from cadenza.adapters.stores.common import already_exists, checked_bulk_change, matches, same_job
from cadenza.adapters.stores.memory.monitoring.alert_routes import drop_route
from cadenza.adapters.stores.memory.tables import MemoryTables
from cadenza.domain.scheduling.endpoint import Endpoint, Job
from cadenza.domain.scheduling.steer import ChangedEndpoint, EndpointChange
from cadenza.ports.catalog import (
    EVERY_ENDPOINT,
    FIRST_PAGE,
    BulkChange,
    BulkScope,
    BulkState,
    DecideBulkChange,
    EndpointFilter,
    JobChange,
    Page,
)


class MemoryCatalog:
    """Jobs and endpoints of a tenant."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def add_job(self, job: Job) -> None:
        with self._lock:
            if (job.tenant_id, job.id) in self._tables.jobs:
                raise already_exists("job", job.id)
            self._tables.put_job(job)

    async def job(self, tenant_id: str, job_id: str) -> Job:
        with self._lock:
            return self._tables.job(tenant_id, job_id)

    async def jobs(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[Job]:
        with self._lock:
            ids = sorted(id_ for owner, id_ in self._tables.jobs if owner == tenant_id)
            later = [id_ for id_ in ids if page.after is None or id_ > page.after]
            return [self._tables.jobs[tenant_id, id_] for id_ in later[: page.limit]]

    async def amend_job(self, tenant_id: str, job_id: str, change: JobChange) -> Job:
        with self._lock:
            before = self._tables.job(tenant_id, job_id)
            after = same_job(before, change(before))
            self._tables.put_job(after)
            if after.active is not before.active:
                self._tables.wakeups.notify([tenant_id])
            return after

    async def remove_job(self, tenant_id: str, job_id: str, archive: EndpointChange) -> int:
        with self._lock:
            job = self._tables.job(tenant_id, job_id)
            of_job = [one for one in self._tables.endpoints_of(tenant_id) if one.job_id == job_id]
            amended = [archive(one) for one in of_job if not one.archived]
            self._tables.drop_job(tenant_id, job_id)
            for one in amended:
                self._tables.amend_endpoint(one)
            if not job.active:
                self._tables.wakeups.notify([tenant_id])
            return len(amended)

    async def find(
        self, tenant_id: str, *, wanted: EndpointFilter = EVERY_ENDPOINT, page: Page = FIRST_PAGE
    ) -> list[Endpoint]:
        with self._lock:
            return self._find(tenant_id, wanted, page)

    async def amend_all(
        self, tenant_id: str, change: EndpointChange, *, wanted: EndpointFilter, page: Page = FIRST_PAGE
    ) -> list[ChangedEndpoint]:
        with self._lock:
            amended = [change(endpoint) for endpoint in self._find(tenant_id, wanted, page)]
            return [self._tables.amend_endpoint(one) for one in amended]

    async def change_in_bulk(self, tenant_id: str, scope: BulkScope, decide: DecideBulkChange) -> BulkChange:
        with self._lock:
            current = self._current_state(tenant_id, scope)
            decided = decide(current)
            remaining = {id_: job for (owner, id_), job in self._tables.jobs.items() if owner == tenant_id}
            for gone in decided.removed_jobs:
                remaining.pop(gone, None)
            jobs = ChainMap({job.id: job for job in decided.jobs}, remaining)
            decided = checked_bulk_change(decided, tenant_id, jobs)
            self._refuse_taken(decided, current)
            self._tables.check_owners(one.endpoint for one in decided.endpoints)
            self._write_bulk_change(tenant_id, decided)
            return decided

    def _find(self, tenant_id: str, wanted: EndpointFilter, page: Page) -> list[Endpoint]:
        found = (
            endpoint
            for endpoint in self._tables.endpoints_of(tenant_id)
            if (page.after is None or endpoint.id > page.after) and matches(endpoint, wanted)
        )
        return list(islice(found, page.limit))

    def _current_state(self, tenant_id: str, scope: BulkScope) -> BulkState:
        mine = [job for (owner, _), job in self._tables.jobs.items() if owner == tenant_id]
        jobs = {job.id: job for job in mine if job.id in scope.job_ids or (scope.applied and job.applied)}
        of_jobs = scope.job_ids | jobs.keys()
        inside, elsewhere = {}, 0
        for endpoint in self._tables.endpoints_of(tenant_id):
            if endpoint.job_id in of_jobs or endpoint.id in scope.endpoint_ids:
                inside[endpoint.id] = endpoint
            elif endpoint.live:
                elsewhere += 1
        rules = {
            id_: rule
            for (owner, id_), rule in sorted(self._tables.rules.items())
            if owner == tenant_id and (rule.job_id in of_jobs or id_ in scope.rule_ids)
        }
        routes = {
            id_: route
            for (owner, id_), route in sorted(self._tables.alert_routes.items())
            if owner == tenant_id and scope.routes
        }
        return BulkState(jobs, inside, elsewhere, rules, routes)

    def _refuse_taken(self, decided: BulkChange, current: BulkState) -> None:
        """A new endpoint is one outside the scope; its id may be in use there."""
        for one in decided.endpoints:
            if one.endpoint.id not in current.endpoints and one.endpoint.key in self._tables.endpoints:
                raise already_exists("endpoint", one.endpoint.id)

    def _write_bulk_change(self, tenant_id: str, decided: BulkChange) -> None:
        for job_id in decided.removed_jobs:
            self._tables.drop_job(tenant_id, job_id)
        for job in decided.jobs:
            self._tables.put_job(job)
        for one in decided.endpoints:
            if one.endpoint.key not in self._tables.endpoints:
                self._tables.add_endpoint(one.endpoint)
            self._tables.amend_endpoint(one)
        for rule_id in decided.removed_rules:
            self._tables.rules.pop((tenant_id, rule_id), None)
        for rule in decided.rules:
            self._tables.rules[tenant_id, rule.id] = rule
        self._write_routes(tenant_id, decided)
        if decided.jobs or decided.removed_jobs:
            self._tables.wakeups.notify([tenant_id])

    def _write_routes(self, tenant_id: str, decided: BulkChange) -> None:
        for route_id in decided.removed_routes:
            drop_route(self._tables, tenant_id, route_id)
        for route in decided.routes:
            self._tables.alert_routes[tenant_id, route.id] = route
