"""Endpoints, their claims and their runs. A store never decides: it is handed decisions and applies them."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from cadenza.domain.planning.health import EndedRun
from cadenza.domain.scheduling.due import Recheck
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Claim, Completion, Run, RunStatus
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.domain.scheduling.steer import ChangedEndpoint, EndpointChange, HintRecord
from cadenza.ports.catalog import ANY, FIRST_PAGE, Admission, Page

Settle = Callable[[Endpoint, Completion], SettledRun]
Decide = Callable[[Endpoint, Claim], Recheck]
Abandon = Callable[[Endpoint, Run], SettledRun]


class Sweeping(NamedTuple):
    """What a sweep does with runs whose lease ran out, and with endpoints whose one-shot hint did."""

    abandon: Abandon
    tidy: EndpointChange


class Bell(Protocol):
    """Wakes a sleeping worker. It may be lost, so whoever waits for it also looks now and then."""

    async def heard(self) -> None:
        """Come back when it has rung since the last call, also if that was before this one."""
        ...


class EndpointStore(Protocol):
    """Endpoints, the claims to them, and the commits that open and close their runs."""

    async def add(self, endpoint: Endpoint, admission: Admission = ANY) -> None:
        """Keep a new endpoint; Conflict if its key is taken.

        NotFound if its job must exist and does not, NotAllowed if its tenant has its
        number of endpoints: both are looked at in the same commit.
        """
        ...

    async def get(self, key: EndpointKey) -> Endpoint:
        """The endpoint as it stands; NotFound if there is none under this key."""
        ...

    async def amend(self, key: EndpointKey, change: EndpointChange) -> ChangedEndpoint:
        """Apply a change to the fresh row, in one commit with all that it records.

        Changes to one endpoint happen one after the other; a change that raises
        changes nothing. A next run that moved rings the bell for sleeping workers.
        """
        ...

    async def claim_due(
        self, *, now: datetime, within: timedelta, lease_until: datetime, limit: int
    ) -> list[Claim]:
        """Lease what is due, and open a run for each, in one commit; soonest first.

        Of any number of concurrent callers, one gets each endpoint. When the limit
        cuts, no tenant's backlog keeps another tenant's endpoints from their turn.
        A lease, also one that ran out, protects until it is swept.
        """
        ...

    async def start(self, claims: Sequence[Claim], decide: Decide) -> list[Recheck | None]:
        """Look again at claims that waited for their moment, in one commit.

        A claim that starts is marked as dispatched, one that goes on waiting as not
        dispatched, and one that is cancelled is left to `finalize`. The answers come
        in the order of the claims; None stands for a lease that was lost.
        """
        ...

    async def renew(self, claims: Sequence[Claim], lease_until: datetime) -> set[str]:
        """Protect what is running for longer; the run ids whose leases are still held."""
        ...

    async def finalize(self, completions: Sequence[Completion], settle: Settle) -> list[SettledRun | None]:
        """Settle fresh rows, close their runs and end their leases, all in one commit.

        Hints written during a run are seen. The turn that an endpoint is settled with
        is kept and owed in the same commit, as by `commit_turn`, also if it is somebody
        else's by now: the lease speaks for the firing. So is the alert, as by
        `raise_alert`. A lost lease changes nothing and answers None. The answers come
        in the order of the completions.
        """
        ...

    async def sweep(self, *, now: datetime, limit: int, sweeping: Sweeping) -> list[SettledRun]:
        """Abandon runs whose lease ran out and tidy one-shot hints that expired unserved, in one commit.

        What was abandoned is answered; turns and alerts that it leaves are kept as by `finalize`.
        """
        ...

    async def next_due(self) -> datetime | None:
        """The earliest moment at which there is something to claim; None if nothing waits."""
        ...

    def listen(self) -> Bell:
        """A bell that rings whenever something may have become due earlier than it was."""
        ...


class RunFilter(NamedTuple):
    """Which runs: of one endpoint or job, with one of these statuses and sources, finished in a span."""

    endpoint_id: str | None = None
    job_id: str | None = None
    statuses: frozenset[RunStatus] = frozenset()
    sources: frozenset[Source] = frozenset()
    since: datetime | None = None
    until: datetime | None = None


EVERY_RUN = RunFilter()


class RunsFound(NamedTuple):
    """Runs that were found, and where to go on; None when there are no more."""

    runs: list[Run]
    after: str | None


class Retention(NamedTuple):
    """How long runs are kept: by age, and by number; None for ever."""

    max_age: timedelta | None = None
    max_count: int | None = None


class RunStore(Protocol):
    """Runs and hints of the past, and how long they are kept."""

    async def run(self, tenant_id: str, run_id: str) -> Run:
        """One run; NotFound if the tenant has none under this id."""
        ...

    async def runs(self, key: EndpointKey, page: Page = FIRST_PAGE) -> list[Run]:
        """An endpoint's runs, newest first."""
        ...

    async def hints(self, key: EndpointKey, page: Page = FIRST_PAGE) -> list[HintRecord]:
        """The history of an endpoint's hints, newest first."""
        ...

    async def find_runs(
        self, tenant_id: str, *, wanted: RunFilter = EVERY_RUN, page: Page = FIRST_PAGE
    ) -> RunsFound:
        """A tenant's closed runs, newest first; a run that is open is found with its endpoint.

        A page may hold less than its limit and yet not be the last: only so many rows
        are looked at for one answer.
        """
        ...

    async def ended(self, key: EndpointKey, *, since: datetime, limit: int) -> list[EndedRun]:
        """How an endpoint's runs ended since a moment, newest first."""
        ...

    async def keep_history(self, retention: Retention, now: datetime) -> int:
        """Forget runs that nobody wants any more, and make room for those to come; how many went.

        No run is forgotten before its time; some may stay up to a day longer.
        """
        ...
