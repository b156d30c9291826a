"""What planners live on: the feed of ended runs, briefings, their own notes, and the record of sittings."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, NamedTuple, Protocol

from cadenza.domain.planning.analysis import Analysis, Tokens, Trigger
from cadenza.domain.planning.health import Health
from cadenza.domain.planning.rules.context import Facts
from cadenza.domain.planning.rules.rule import Rule
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Run
from cadenza.domain.scheduling.steer import Amended
from cadenza.domain.scheduling.target import Json
from cadenza.ports.catalog import FIRST_PAGE, Page


class Fed(NamedTuple):
    """Runs that have ended, without their responses, and the mark to go on from."""

    runs: list[Run]
    mark: str


class NextLook(NamedTuple):
    """An endpoint that a planner wants to look at again, and when; None if it no longer does."""

    key: EndpointKey
    planner: str
    at: datetime | None = None


class DaySpent(NamedTuple):
    """What a planner's recorded sittings about one endpoint came to on one day."""

    day: date
    planner: str
    sittings: int
    tokens: Tokens


class AnalysisStore(Protocol):
    """Sittings, notes, and the feed."""

    async def ended_since(self, mark: str | None, limit: int) -> Fed:
        """Closed runs of all tenants, about in the order of their commits; None begins with those to come.

        Each run comes at least once to whoever goes on from mark to mark, also one
        that was committed late; some may come twice. A mark that is not from this
        store begins with those to come, too.
        """
        ...

    async def neighbours(self, keys: Collection[EndpointKey], most: int) -> list[Endpoint]:
        """These endpoints and, of each one's job, at most so many others; archived ones are left out."""
        ...

    async def recent_runs(
        self, keys: Collection[EndpointKey], *, each: int, most_bytes: int
    ) -> dict[EndpointKey, list[Run]]:
        """The newest closed runs of these endpoints, newest first; those without any are left out.

        Of each endpoint at most so many, and no more than have responses of so many
        bytes together; the newest always comes whole.
        """
        ...

    async def add_analyses(self, analyses: Sequence[Analysis], looks: Sequence[NextLook] = ()) -> None:
        """Record sittings, and looks beside them, in one commit.

        What a planner wants to look at replaces what it wanted before; an analysis
        without `look_again_at` wants nothing. One that was recorded before is not
        recorded twice.
        """
        ...

    async def analyses(self, key: EndpointKey, page: Page = FIRST_PAGE) -> list[Analysis]:
        """An endpoint's sittings, newest first."""
        ...

    async def spent_by_day(self, key: EndpointKey, since: datetime) -> list[DaySpent]:
        """What planners' sittings about an endpoint came to, by UTC day and planner, newest day first."""
        ...

    async def to_look_at(self, now: datetime, *, again_at: datetime, limit: int) -> list[NextLook]:
        """Whose next look is due, soonest first. It is due again at `again_at`, unless a planner says else.

        So a look that a crash cut short is not lost. Of several callers one gets each.
        """
        ...

    async def take_notes(self, planner: str, notes: Mapping[EndpointKey, Json], now: datetime) -> None:
        """Keep what a planner knows of endpoints, in place of what it knew, in one commit."""
        ...

    async def notes(self, planner: str, keys: Collection[EndpointKey]) -> dict[EndpointKey, Json]:
        """What a planner knows of these endpoints; those it knows nothing of are left out."""
        ...

    async def forget_analyses(self, before: datetime) -> int:
        """Forget sittings that began earlier; how many there were."""
        ...


RuleChange = Callable[[Rule], Rule]


class RuleFilter(NamedTuple):
    """Which rules: all of a tenant, of one job, about one endpoint alone."""

    job_id: str | None = None
    endpoint_id: str | None = None


EVERY_RULE = RuleFilter()


class RuledJob(NamedTuple):
    """A job that has rules."""

    tenant_id: str
    job_id: str


class RuleStore(Protocol):
    """Rules of jobs; they go with their job."""

    async def add_rule(self, rule: Rule, *, most: int) -> None:
        """Keep a new rule; Conflict if the tenant has one with this id.

        NotFound if its job does not exist, NotAllowed if that has `most` rules: both are
        looked at in the same commit.
        """
        ...

    async def rule(self, tenant_id: str, rule_id: str) -> Rule:
        """The rule; NotFound if the tenant has none under this id."""
        ...

    async def rules(
        self, tenant_id: str, *, wanted: RuleFilter = EVERY_RULE, page: Page = FIRST_PAGE
    ) -> list[Rule]:
        """A tenant's rules, in the order of their ids."""
        ...

    async def amend_rule(self, tenant_id: str, rule_id: str, change: RuleChange) -> Rule:
        """Apply a change to the fresh row; NotFound if there is none.

        A change that raises changes nothing.
        """
        ...

    async def remove_rule(self, tenant_id: str, rule_id: str) -> None:
        """Forget a rule; NotFound if the tenant has none under this id."""
        ...

    async def ruled_jobs(self) -> frozenset[RuledJob]:
        """All jobs of all tenants that have rules."""
        ...


class Verdict(NamedTuple):
    """Whether a condition holds; None if that cannot be told, and then why."""

    holds: bool | None
    trouble: str | None = None


class Expressions(Protocol):
    """Reads and evaluates conditions: text that cannot do anything but look."""

    def check(self, expression: str) -> None:
        """InvalidRequest, with the place, unless it can be read and may come to true or false.

        What cannot be told before there are answers is not at fault.
        """
        ...

    def ask(self, expression: str, facts: Facts) -> Verdict:
        """Whether it holds; bounded in time, whatever the facts are, and never an exception."""
        ...


CallTool = Callable[[Endpoint, str, Mapping[str, Any]], Awaitable[Amended]]
"""Calls a tool of an endpoint by its name, with its arguments as they are named on the wire."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """What a planner is told about one endpoint before it acts."""

    now: datetime
    endpoint: Endpoint
    trigger: Trigger = Trigger.RUN
    recent: Sequence[Run] = ()
    """Its newest runs first, with their responses, as many as fit into the budget."""
    health: Sequence[Health] = ()
    siblings: Mapping[str, Endpoint] = field(default_factory=dict)
    """The other endpoints of its job, by name; a planner may act on them too."""
    latest: Mapping[str, Run] = field(default_factory=dict)
    """The siblings' newest runs, by name."""


class Sitting(NamedTuple):
    """How a sitting ended."""

    reasoning: str = ""
    look_again_ms: int | None = None
    """When to think about this endpoint again, if nothing happens before."""
    tokens: Tokens = Tokens()
    shadow: bool = False
    """It was only thought, not done."""
    error: str | None = None
    """Why it came to nothing; what it spent is counted all the same."""


NOTHING_TO_SAY = Sitting()


class Planner(Protocol):
    """Thinks about one endpoint at a time and acts through tools alone."""

    @property
    def name(self) -> str:
        """What its sittings and hints are recorded as."""
        ...

    def wants(self, briefing: Briefing) -> bool:
        """Whether it has anything to think about here; cheap, and asked first."""
        ...

    async def sit(self, briefing: Briefing, call: CallTool) -> Sitting:
        """Read the briefing and call whatever tools it suggests."""
        ...
