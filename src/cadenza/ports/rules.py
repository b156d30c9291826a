"""Rules as a store keeps them, and the language of their conditions."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from cadenza.domain.planning.rules.context import Facts
from cadenza.domain.planning.rules.rule import Rule
from cadenza.ports.catalog import FIRST_PAGE, Page

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
