"""Rules: written, listed, changed, deleted and tried."""

from dataclasses import replace
from datetime import datetime
from typing import Self

from pydantic import Field

from cadenza.domain.access.key import Scope
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.planning.rules.rule import MOST_RULES, Rule
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Flag, Id, Listed, Name, Paged, SpanFromZero, split_page
from cadenza.operations.operation import CREATED, NO_CONTENT, Command, Nothing, View, operation
from cadenza.operations.planning.rule_schemas import (
    AnyStep,
    Escalations,
    When,
    check_rule,
    rule_parts_as_shapes,
    rule_parts_to_domain,
)
from cadenza.ports.planning import RuleFilter

MAY_BE_NULL = frozenset({"endpoint_id", "relax"})


class RuleFields(Command):
    """What a rule says."""

    when: When
    """An expression in the Common Expression Language over `response`, `run`, `recent`, `siblings`,
    `endpoint` and `now`. While it holds, an incident lasts."""
    then: AnyStep
    """What to do while it holds, unless it is so already."""
    relax: AnyStep | None = None
    """What to do when it no longer holds."""
    cooldown_ms: SpanFromZero = 0
    """How long after it fired `then` is left alone, also by the next incident."""
    once_per_incident: Flag = False
    escalate: Escalations = []
    """What to do when an incident has lasted so long; each step once, ever later ones."""


class CreateRule(RuleFields):
    """A new rule of a job."""

    job_id: Id
    name: Name
    """The reason of all that it does."""
    endpoint_id: Id | None = None
    """The endpoint it looks at; if left out, it looks at each of the job."""
    id: Id | None = None
    """Chosen by you, or given. Rules about one endpoint act in the order of their ids."""
    enabled: Flag = True


class OneRule(Command):
    """The rule that is meant."""

    rule_id: Id


class UpdateRule(OneRule):
    """What is to be different; what is left out stays as it is."""

    name: Name | None = None
    endpoint_id: Id | None = None
    when: When | None = None
    then: AnyStep | None = None
    relax: AnyStep | None = None
    cooldown_ms: SpanFromZero | None = None
    once_per_incident: Flag | None = None
    escalate: Escalations | None = None
    enabled: Flag | None = None


class ListRules(Paged):
    """A part of the rules."""

    job_id: Id | None = None
    endpoint_id: Id | None = None
    """Those that look at this endpoint alone."""


class RuleView(View):
    """A rule."""

    id: str
    job_id: str
    endpoint_id: str | None
    name: str
    when: str
    then: AnyStep
    relax: AnyStep | None
    cooldown_ms: int
    once_per_incident: bool
    escalate: Escalations = Field()
    enabled: bool
    created_at: datetime | None
    rank: str
    """With which it acts: `rule`, or `llm` if a model wrote it last, whose bounds then hold for it."""

    @classmethod
    def of(cls, rule: Rule) -> Self:
        """The view of a rule."""
        return cls.model_construct(
            id=rule.id,
            job_id=rule.job_id,
            endpoint_id=rule.endpoint_id,
            enabled=rule.enabled,
            created_at=rule.created_at,
            rank=rule.rank.name.lower(),
            **rule_parts_as_shapes(rule),
        )


class RulesPage(Listed[RuleView]):
    """A page of rules."""


@operation("POST /v1/rules", Scope.WRITE, status=CREATED)
async def create_rule(context: RequestContext, command: CreateRule) -> RuleView:
    """Create a rule: when its condition is true, a tool is called.

    Its condition is parsed and tested at once; an error names its position.
    """
    rule = Rule(
        id=command.id or context.dependencies.ids.new(),
        tenant_id=context.tenant_id,
        created_at=context.dependencies.clock.now(),
        **rule_parts_to_domain(
            {name: getattr(command, name) for name in CreateRule.model_fields if name != "id"}
        ),
    ).written_by(context.caller.origin)
    await context.store.catalog.job(context.tenant_id, rule.job_id)
    await context.store.rules.add_rule(await check_rule(context, rule), most=MOST_RULES)
    context.trail.note("rule", rule.id, after=rule)
    return RuleView.of(rule)


@operation("GET /v1/rules", Scope.READ)
async def list_rules(context: RequestContext, command: ListRules) -> RulesPage:
    """List rules, all or those of a job or about one endpoint, in the order of their ids."""
    wanted = RuleFilter(command.job_id, command.endpoint_id)
    found = await context.store.rules.rules(context.tenant_id, wanted=wanted, page=command.page())
    rules, more = split_page(found, command.limit)
    return RulesPage.model_construct(
        items=[RuleView.of(rule) for rule in rules], next_cursor=rules[-1].id if more else None
    )


@operation("GET /v1/rules/{rule_id}", Scope.READ)
async def get_rule(context: RequestContext, command: OneRule) -> RuleView:
    """Show one rule."""
    return RuleView.of(await context.store.rules.rule(context.tenant_id, command.rule_id))


@operation("PATCH /v1/rules/{rule_id}", Scope.WRITE)
async def update_rule(context: RequestContext, command: UpdateRule) -> RuleView:
    """Change a rule. An open incident stays open."""
    given = {name: getattr(command, name) for name in command.model_fields_set - {"rule_id"}}
    for name, value in given.items():
        if value is None and name not in MAY_BE_NULL:
            raise InvalidRequest(f"{name} cannot be null; leave it out to keep it.", name)
    changes = rule_parts_to_domain(given)
    tenant_id, rule_id = context.tenant_id, command.rule_id

    def change(before: Rule) -> Rule:
        after = replace(before, **changes).written_by(context.caller.origin)
        context.trail.note("rule", rule_id, before=before, after=after)
        return after

    await check_rule(context, change(await context.store.rules.rule(tenant_id, rule_id)))
    return RuleView.of(await context.store.rules.amend_rule(tenant_id, rule_id, change))


@operation("DELETE /v1/rules/{rule_id}", Scope.WRITE, status=NO_CONTENT)
async def delete_rule(context: RequestContext, command: OneRule) -> Nothing:
    """Delete a rule. Hints that it wrote stay until they expire."""
    before = await context.store.rules.rule(context.tenant_id, command.rule_id)
    context.trail.note("rule", before.id, before=before)
    await context.store.rules.remove_rule(context.tenant_id, command.rule_id)
    return Nothing()


RULES = (create_rule, list_rules, get_rule, update_rule, delete_rule)
