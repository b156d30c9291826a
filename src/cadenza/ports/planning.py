"""Stores and protocols for planners: ended runs, briefings, planner notes, recorded analyses, rules."""

from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, NamedTuple, Protocol

from cadenza.domain.json_values import Json
from cadenza.domain.planning.analysis import Analysis, Tokens, Trigger
from cadenza.domain.planning.health import HealthSummary
from cadenza.domain.planning.rules.context import Variables
from cadenza.domain.planning.rules.incidents import Evaluation
from cadenza.domain.planning.rules.rule import Rule
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.hint import Rank
from cadenza.domain.scheduling.run import Run
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.ports.catalog import FIRST_PAGE, Page


class EndedRuns(NamedTuple):
    """Ended runs without their responses, and the cursor to continue from."""

    runs: list[Run]
    cursor: str


class NextAnalysis(NamedTuple):
    """When a planner wants to analyze an endpoint again; None if it no longer does."""

    key: EndpointKey
    planner: str
    at: datetime | None = None


class DailyAnalysisUsage(NamedTuple):
    """A planner's recorded analyses of one endpoint on one day: how many, and their tokens."""

    day: date
    planner: str
    analyses: int
    tokens: Tokens


class AnalysisStore(Protocol):
    """Recorded analyses, planner notes, and the feed of ended runs."""

    async def ended_since(self, cursor: str | None, limit: int) -> EndedRuns:
        """Closed runs of all tenants, roughly in commit order; None starts with future runs.

        A caller that continues from cursor to cursor gets each run at least once, even
        one that was committed late; some may come twice. A cursor that this store did
        not issue starts with future runs, too.
        """
        ...

    async def with_siblings(self, keys: Collection[EndpointKey], most: int) -> list[Endpoint]:
        """These endpoints and at most `most` others of each one's job; archived ones are left out."""
        ...

    async def recent_runs(
        self, keys: Collection[EndpointKey], *, each: int, most_bytes: int
    ) -> dict[EndpointKey, list[Run]]:
        """The newest closed runs of these endpoints, newest first; endpoints without runs are left out.

        At most `each` runs per endpoint, and only as many as have responses of
        `most_bytes` together; the newest is always included whole.
        """
        ...

    async def add_analyses(
        self, analyses: Sequence[Analysis], next_analyses: Sequence[NextAnalysis] = ()
    ) -> None:
        """Record analyses, and when planners want the next ones, in one commit.

        A planner's newest request for an endpoint replaces the one before; an analysis
        without `look_again_at` removes it. An analysis that was recorded before is not
        recorded twice.
        """
        ...

    async def analyses(self, key: EndpointKey, page: Page = FIRST_PAGE) -> list[Analysis]:
        """An endpoint's analyses, newest first."""
        ...

    async def usage_by_day(self, key: EndpointKey, since: datetime) -> list[DailyAnalysisUsage]:
        """An endpoint's analyses and their tokens by UTC day and planner, newest day first."""
        ...

    async def due_analyses(self, now: datetime, *, again_at: datetime, limit: int) -> list[NextAnalysis]:
        """Analyses that are due, soonest first; each is due again at `again_at` unless recorded before.

        So an analysis that a crash interrupted is not lost. Of several callers one gets each.
        """
        ...

    async def save_notes(self, planner: str, notes: Mapping[EndpointKey, Json], now: datetime) -> None:
        """Save a planner's notes about endpoints, in place of its earlier ones, in one commit."""
        ...

    async def notes(self, planner: str, keys: Collection[EndpointKey]) -> dict[EndpointKey, Json]:
        """A planner's notes about these endpoints; those without one are left out."""
        ...

    async def forget_analyses(self, before: datetime) -> int:
        """Delete analyses that began earlier; returns how many."""
        ...


RuleChange = Callable[[Rule], Rule]


class RuleFilter(NamedTuple):
    """Which rules: all of a tenant, of one job, or about one endpoint only."""

    job_id: str | None = None
    endpoint_id: str | None = None


EVERY_RULE = RuleFilter()


class JobKey(NamedTuple):
    """A job and its tenant."""

    tenant_id: str
    job_id: str


class RuleStore(Protocol):
    """Rules of jobs; they are deleted with their job."""

    async def add_rule(self, rule: Rule, *, most: int) -> None:
        """Add a rule; Conflict if the tenant has one with this id.

        NotFound if its job does not exist, NotAllowed if the job has `most` rules: both are
        checked in the same commit.
        """
        ...

    async def rule(self, tenant_id: str, rule_id: str) -> Rule:
        """The rule; NotFound if the tenant has none with this id."""
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
        """Delete a rule; NotFound if the tenant has none with this id."""
        ...

    async def jobs_with_rules(self) -> frozenset[JobKey]:
        """All jobs of all tenants that have rules."""
        ...


class Expressions(Protocol):
    """Compiles and evaluates conditions, which can read variables and do nothing else."""

    def check(self, expression: str) -> None:
        """InvalidRequest, with the position, unless it compiles and may evaluate to true or false.

        A field that only a response could have is not an error.
        """
        ...

    def evaluate(self, expression: str, variables: Variables) -> Evaluation:
        """Whether it holds; bounded in time whatever the variables are, and never an exception."""
        ...


class CallTool(Protocol):
    """Calls a steering tool on an endpoint, with the tool's JSON arguments."""

    def __call__(
        self,
        endpoint: Endpoint,
        tool: str,
        arguments: Mapping[str, Any],
        /,
        *,
        rule: str | None = None,
        rank: Rank = Rank.RULE,
    ) -> Awaitable[ChangedEndpoint]:
        """The endpoint after the call; `rule` names the rule that calls, and `rank` is the rule's."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """What a planner gets to read about one endpoint."""

    now: datetime
    endpoint: Endpoint
    trigger: Trigger = Trigger.RUN
    recent: Sequence[Run] = ()
    """Its runs with their responses, newest first, as many as fit into the budget."""
    health: Sequence[HealthSummary] = ()
    siblings: Mapping[str, Endpoint] = field(default_factory=dict)
    """The other endpoints of its job, by name; a planner may steer them too."""
    latest: Mapping[str, Run] = field(default_factory=dict)
    """The siblings' newest runs, by name."""


class PlannerResult(NamedTuple):
    """What a planner returns from one analysis."""

    reasoning: str = ""
    look_again_ms: int | None = None
    """After how long to analyze this endpoint again if nothing happens before."""
    tokens: Tokens = Tokens()
    shadow: bool = False
    """It computed an action and did not take it."""
    error: str | None = None
    """Why the analysis failed; its tokens are counted all the same."""


EMPTY_RESULT = PlannerResult()


class Planner(Protocol):
    """Analyzes one endpoint at a time and steers through tools only."""

    @property
    def name(self) -> str:
        """The name under which its analyses and hints are recorded."""
        ...

    def wants(self, briefing: Briefing) -> bool:
        """Whether it has anything to analyze here; cheap, and asked first."""
        ...

    async def sit(self, briefing: Briefing, call: CallTool) -> PlannerResult:
        """Analyze the endpoint of a briefing once, and call the tools that it calls for."""
        ...


LeaderWork = Callable[[], Coroutine[Any, Any, None]]


class LeaderLock(Protocol):
    """Held by one process at a time, of all on one database; it is released when its process ends."""

    async def hold(self, work: LeaderWork) -> None:
        """Wait for the lock, and do the work while holding it; if it is lost, stop and wait again."""
        ...
