"""Jobs and endpoints of a tenant: listing, and changes of many in one commit."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

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


EVERY_ENDPOINT = EndpointFilter()


class Admission(NamedTuple):
    """What must hold for a new endpoint to be kept, looked at in the same commit."""

    known_job: bool = False
    """Its job must exist."""
    most: int | None = None
    """So many live endpoints may its tenant have, with this one."""


ANY = Admission()


class Extent(NamedTuple):
    """What a decision is about: the jobs, endpoints and rules with these ids."""

    job_ids: frozenset[str] = frozenset()
    endpoint_ids: frozenset[str] = frozenset()
    applied: bool = False
    """And all jobs that a configuration file wrote."""
    rule_ids: frozenset[str] = frozenset()


class Estate(NamedTuple):
    """What a tenant has within an extent, and how many live endpoints it has elsewhere."""

    jobs: Mapping[str, Job]
    endpoints: Mapping[str, Endpoint]
    """Those of these jobs, and those that were named; archived ones too."""
    elsewhere: int = 0
    rules: Mapping[str, Rule] = {}
    """Those of these jobs, and those that were named."""


class Arrangement(NamedTuple):
    """What is to be written: jobs, endpoints and rules, new or changed, and jobs and rules that go."""

    jobs: Sequence[Job] = ()
    endpoints: Sequence[ChangedEndpoint] = ()
    jobs_gone: Sequence[str] = ()
    rules: Sequence[Rule] = ()
    rules_gone: Sequence[str] = ()


Arrange = Callable[[Estate], Arrangement]
JobChange = Callable[[Job], Job]


class JobStore(Protocol):
    """Groups of endpoints."""

    async def add_job(self, job: Job) -> None:
        """Keep a new job; Conflict if the tenant has one with this id."""
        ...

    async def job(self, tenant_id: str, job_id: str) -> Job:
        """The job; NotFound if the tenant has none under this id."""
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
        """Forget a job with its rules, and apply a change to each of its endpoints, in one commit.

        How many endpoints there were.
        """
        ...


class Catalog(JobStore, Protocol):
    """What an owner has, to be listed and to be changed together."""

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

    async def arrange(self, tenant_id: str, extent: Extent, decide: Arrange) -> Arrangement:
        """Write what is decided about the fresh rows within an extent, in one commit; all or nothing.

        Endpoints become active and inactive with their jobs. If a next run moved, sleeping
        workers are woken.
        """
        ...
