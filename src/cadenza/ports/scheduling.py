"""Endpoints, their claims and their runs. A store never decides: it is handed decisions and applies them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from cadenza.domain.access.places import NO_BOUNDS
from cadenza.domain.planning.health import EndedRun
from cadenza.domain.scheduling.due import Recheck
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Claim, Completion, ProcessDeath, Run, RunStatus
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.domain.scheduling.steer import ChangedEndpoint, EndpointChange, HintRecord
from cadenza.ports.catalog import ANY, FIRST_PAGE, Admission, Page

Settle = Callable[[Endpoint, Completion], SettledRun]
RecheckClaim = Callable[[Endpoint, Claim], Recheck]
Abandon = Callable[[Endpoint, Run, ProcessDeath], SettledRun]
Now = Callable[[], datetime]
OpenRunChange = Callable[[Endpoint, Run | None], ChangedEndpoint]
"""A change of an endpoint that is also given its open run, if it has one."""


class SweepRules(NamedTuple):
    """What a sweep makes of runs whose lease ran out, and of endpoints whose one-shot hint expired."""

    abandon: Abandon
    tidy: EndpointChange


class Wakeup(Protocol):
    """Wakes a sleeping loop. A notification may be lost, so a loop that waits for one also polls."""

    async def wait(self) -> Collection[str] | None:
        """Return when there was a notification since the last call, also one before this call.

        The tenants whose endpoints were changed; None if that is not known.
        """
        ...


class EndpointStore(Protocol):
    """Endpoints, the claims to them, and the commits that open and close their runs."""

    async def add(self, endpoint: Endpoint, admission: Admission = ANY) -> None:
        """Add an endpoint; Conflict if there is one with its key.

        NotFound if its job must exist and does not, NotAllowed if its tenant has as many
        endpoints as it may: both are checked in the same commit.
        """
        ...

    async def get(self, key: EndpointKey) -> Endpoint:
        """The endpoint; NotFound if there is none with this key."""
        ...

    async def amend(self, key: EndpointKey, change: EndpointChange) -> ChangedEndpoint:
        """Apply a change to the fresh row, in one commit with all that it records.

        Changes to one endpoint happen one after the other; a change that raises
        changes nothing. If the next run moved, or a run was requested or is to be cancelled,
        sleeping workers are woken.
        """
        ...

    async def amend_with_open_run(self, key: EndpointKey, change: OpenRunChange) -> ChangedEndpoint:
        """Apply a change as by `amend`; it is also given the open run, which it may close.

        Closing the run ends its lease in the same commit: its worker cannot start or finalize it.
        """
        ...

    async def to_cancel(self, claims: Sequence[Claim]) -> set[str]:
        """The ids of the claimed runs that are asked to be cancelled, if their leases are still held."""
        ...

    async def amend_ahead(
        self, moment: datetime, change: EndpointChange, *, after: EndpointKey | None, limit: int
    ) -> list[ChangedEndpoint]:
        """Apply a change to endpoints whose next run lies after a moment, in one commit.

        Only those that ran or skipped a slot after it, or never did. By key, from the first
        after `after`; a full answer means that there may be more. Sleeping workers are woken.
        """
        ...

    async def claim_due(
        self,
        *,
        now: datetime,
        within: timedelta,
        lease_until: datetime,
        limit: int,
        bounds: Mapping[str, int] = NO_BOUNDS,
        can_run: Collection[str] | None = None,
        holder: str | None = None,
    ) -> list[Claim]:
        """Lease what is due, and open a run for each, in one commit; soonest first.

        Of any number of concurrent callers, one gets each endpoint. When the limit
        cuts, every tenant gets its share of each requirement: a backlog of one tenant
        or function delays no other. Of a tenant in `bounds` at most so many are leased,
        after those of others; what it has due beyond that hides nothing of theirs. A
        lease, also one that ran out, protects until it is swept. Only endpoints whose
        requirement is in `can_run` are claimed, all if it is None; what the others have
        due costs the claim nothing. The holder stands for the process that claims, so
        that a sweep can tell what it had in flight when it died; without one, each claim
        is a process of its own, whose holder is its token.
        """
        ...

    async def start(self, claims: Sequence[Claim], decide: RecheckClaim) -> list[Recheck | None]:
        """Check claims again that waited for their moment, in one commit.

        A claim that starts is marked as dispatched, one that goes on waiting as not
        dispatched, and one that is cancelled is left to `finalize`. Results are in the
        order of the claims; None for a lease that was lost.
        """
        ...

    async def renew(self, claims: Sequence[Claim], lease_until: datetime) -> set[str]:
        """Extend leases; returns the ids of the runs whose leases are still held."""
        ...

    async def finalize(self, completions: Sequence[Completion], settle: Settle) -> list[SettledRun | None]:
        """Settle fresh rows, close their runs and end their leases, all in one commit.

        Hints written during a run are seen. The turn that a run left is committed with it,
        as by `commit_turn`, even if another process has the conversation's turn by now: the
        lease of the run is the right to write it. Its alert is raised as by `raise_alert`, and
        the run is counted for its tenant. A lost lease changes nothing and gives None. Results
        are in the order of the completions.
        """
        ...

    async def sweep(self, *, now: Now, limit: int, rules: SweepRules) -> list[SettledRun]:
        """Abandon runs whose lease ran out and remove one-shot hints that expired unused, in one commit.

        The moment is asked for in that commit, which may have waited for others.
        The rule is told what the holder of a lease had in flight when it ran out, also where that is
        swept in several commits.
        Returns the abandoned runs; their turns and alerts are written as by `finalize`.
        """
        ...

    async def next_due(
        self, can_run: Collection[str] | None = None, *, without: Collection[str] = ()
    ) -> datetime | None:
        """The earliest moment at which `claim_due` can claim something; None if there is nothing.

        What tenants in `without` have does not count, unless they have so much due that looking behind
        it would cost too much: then a moment that has passed is the answer.
        """
        ...

    async def database_time(self) -> datetime | None:
        """What the clock of the database shows; None if it has no clock but the machine's."""
        ...

    def listen(self) -> Wakeup:
        """A wake-up that is notified when something may have become due earlier than before."""
        ...


class FunctionStore(Protocol):
    """Which functions the processes on this database have, and the endpoints of those that none has."""

    async def declare(
        self, names: Collection[str], *, now: datetime, bring_back: EndpointChange
    ) -> list[ChangedEndpoint]:
        """Note that a process has these functions, and bring back their retired endpoints, in one commit.

        Returns what came back. Sleeping workers are woken for it.
        """
        ...

    async def retire(
        self, *, now: datetime, undeclared_since: datetime, limit: int, retire: EndpointChange
    ) -> list[ChangedEndpoint]:
        """Retire endpoints whose function no process has declared since a moment, in one commit.

        A function that was never declared counts as declared when it is first found here. What is
        running is left alone. Returns at most so many; a full answer means that there may be more.
        """
        ...

    async def declared_at(self, name: str) -> datetime | None:
        """When a process last declared a function; None if none has, and `retire` has not found it."""
        ...


class EndpointWithRuns(NamedTuple):
    """An endpoint that has an open run, or requested runs that wait, or both."""

    endpoint: Endpoint
    open_run: Run | None


class OpenRunFilter(NamedTuple):
    """Which endpoints: all of a tenant, one of them, or those of a job."""

    endpoint_id: str | None = None
    job_id: str | None = None


EVERY_OPEN_RUN = OpenRunFilter()


class RunFilter(NamedTuple):
    """Which runs: of one endpoint or job, with one of these statuses and sources, finished in a period."""

    endpoint_id: str | None = None
    job_id: str | None = None
    statuses: frozenset[RunStatus] = frozenset()
    sources: frozenset[Source] = frozenset()
    since: datetime | None = None
    until: datetime | None = None


EVERY_RUN = RunFilter()


class RunsFound(NamedTuple):
    """A page of runs, and the cursor of the next page; None if it is the last."""

    runs: list[Run]
    after: str | None


class Retention(NamedTuple):
    """Which closed runs are kept: by age and by number; None for no limit."""

    max_age: timedelta | None = None
    max_count: int | None = None


class RunStore(Protocol):
    """Runs and hints of the past, and how long they are kept."""

    async def run(self, tenant_id: str, run_id: str) -> Run:
        """The run; NotFound if the tenant has none with this id."""
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

        A page may hold less than its limit and yet not be the last: the number of rows
        that one call reads is bounded.
        """
        ...

    async def open_runs(
        self, tenant_id: str, *, wanted: OpenRunFilter = EVERY_OPEN_RUN, page: Page = FIRST_PAGE
    ) -> list[EndpointWithRuns]:
        """A tenant's endpoints with an open run or with requested runs, in the order of their ids."""
        ...

    async def runs_of_slot(self, run: Run) -> list[Run]:
        """The run and the closed runs of its slot that were claimed after it, oldest first."""
        ...

    async def ended(self, key: EndpointKey, *, since: datetime, limit: int) -> list[EndedRun]:
        """How an endpoint's runs ended since a moment, newest first."""
        ...

    async def delete_old_runs(self, retention: Retention, now: datetime) -> int:
        """Delete runs beyond their retention, and prepare the tables for those to come; returns how many.

        No run is deleted early; some may stay up to a day longer.
        """
        ...
