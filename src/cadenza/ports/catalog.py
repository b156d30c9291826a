"""Jobs, endpoints and limits of a tenant: listing, and changes of many in one commit."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from cadenza.domain.access.run_limit import LimitKind, LimitUse, RunLimit
from cadenza.domain.monitoring.alert_route import AlertRoute
from cadenza.domain.planning.rules.rule import Rule
from cadenza.domain.scheduling.endpoint import Endpoint, Job
from cadenza.domain.scheduling.steer import ChangedEndpoint, EndpointChange


class Page(NamedTuple):
    """A part of a listing: what comes after `after`, at most `limit`."""

    limit: int = 100
    after: str | None = None


FIRST_PAGE = Page()


class EndpointFilter(NamedTuple):
    """Which endpoints: all of a tenant, of one job, with all of these labels."""

    job_id: str | None = None
    labels: Mapping[str, str] = {}
    archived: bool | None = False
    """Those that were deleted, too (None), or alone (True)."""
    failing: bool = False
    """Only those that are switched on, with their job, and whose last run did not succeed."""


EVERY_ENDPOINT = EndpointFilter()


class Admission(NamedTuple):
    """What must hold for an endpoint to be added, checked in the same commit."""

    known_job: bool = False
    """Its job must exist."""
    most: int | None = None
    """The most live endpoints that its tenant may have, this one included."""


ANY = Admission()


class BulkScope(NamedTuple):
    """What a bulk change is about: the jobs, endpoints and rules with these ids."""

    job_ids: frozenset[str] = frozenset()
    endpoint_ids: frozenset[str] = frozenset()
    applied: bool = False
    """Also all jobs that were written from a configuration file."""
    rule_ids: frozenset[str] = frozenset()
    routes: bool = False
    """Also all alert routes."""


class BulkState(NamedTuple):
    """What a tenant has within a scope, and how many live endpoints it has outside."""

    jobs: Mapping[str, Job]
    endpoints: Mapping[str, Endpoint]
    """Those of the jobs in the scope and those with an id in it; archived ones too."""
    elsewhere: int = 0
    rules: Mapping[str, Rule] = {}
    """Those of the jobs in the scope and those with an id in it."""
    routes: Mapping[str, AlertRoute] = {}


class BulkChange(NamedTuple):
    """What to write: new and changed jobs, endpoints, rules and routes, and which of them to remove."""

    jobs: Sequence[Job] = ()
    endpoints: Sequence[ChangedEndpoint] = ()
    removed_jobs: Sequence[str] = ()
    rules: Sequence[Rule] = ()
    removed_rules: Sequence[str] = ()
    routes: Sequence[AlertRoute] = ()
    removed_routes: Sequence[str] = ()


DecideBulkChange = Callable[[BulkState], BulkChange]
JobChange = Callable[[Job], Job]


class JobStore(Protocol):
    """Jobs, which are named groups of endpoints."""

    async def add_job(self, job: Job) -> None:
        """Add a job; Conflict if the tenant has one with this id."""
        ...

    async def job(self, tenant_id: str, job_id: str) -> Job:
        """The job; NotFound if the tenant has none with this id."""
        ...

    async def jobs(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[Job]:
        """A tenant's jobs, in the order of their ids."""
        ...

    async def amend_job(self, tenant_id: str, job_id: str, change: JobChange) -> Job:
        """Apply a change to the fresh row. What is due of its endpoints follows it, in the same commit.

        NotFound if the tenant has none under this id; a change that raises changes nothing.
        """
        ...

    async def remove_job(self, tenant_id: str, job_id: str, archive: EndpointChange) -> int:
        """Delete a job with its rules, and apply a change to each of its endpoints, in one commit.

        Returns how many endpoints it had.
        """
        ...


class Catalog(JobStore, Protocol):
    """A tenant's jobs and endpoints, to be listed and to be changed together."""

    async def find(
        self, tenant_id: str, *, wanted: EndpointFilter = EVERY_ENDPOINT, page: Page = FIRST_PAGE
    ) -> list[Endpoint]:
        """A tenant's endpoints, in the order of their ids."""
        ...

    async def amend_all(
        self, tenant_id: str, change: EndpointChange, *, wanted: EndpointFilter, page: Page = FIRST_PAGE
    ) -> list[ChangedEndpoint]:
        """Apply a change to a page of endpoints, in one commit, with all that it records."""
        ...

    async def change_in_bulk(self, tenant_id: str, scope: BulkScope, decide: DecideBulkChange) -> BulkChange:
        """Write what is decided about the fresh rows within a scope, in one commit; all or nothing.

        Endpoints become active and inactive with their jobs. If a next run moved, sleeping
        workers are woken.
        """
        ...


class LimitStore(Protocol):
    """Limits of runs, and how much of each is in use.

    An endpoint is stored with the limits that it is under: from the commit that adds, changes or deletes a
    limit or the endpoint. Workers are woken for a changed limit.
    """

    async def put_limit(self, limit: RunLimit) -> RunLimit | None:
        """Add a limit or change its numbers; the limit as it was, None if there was none.

        LimitReached if the tenant has as many limits as it may have.
        """
        ...

    async def delete_limit(self, tenant_id: str, kind: LimitKind, name: str) -> RunLimit:
        """Delete a limit and return it; NotFound if the tenant has no such limit."""
        ...

    async def limits(self, tenant_id: str) -> list[RunLimit]:
        """A tenant's limits, by kind and name."""
        ...

    async def uses(self, tenant_id: str, now: datetime) -> list[LimitUse]:
        """The same with what is in flight, what began within the last minute, and what is due."""
        ...
