"""A trial of a rule: what it would do now, without doing it."""

from datetime import datetime
from typing import Any

from cadenza.domain.access.key import Scope
from cadenza.domain.errors import InvalidRequest, NotFound
from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.planning.rules.context import RuleContext
from cadenza.domain.planning.rules.incidents import NO_INCIDENT, PLANNER, states_from_note
from cadenza.domain.planning.rules.rule import Rule
from cadenza.engine.planning.briefing import Briefer, BriefingBudget
from cadenza.engine.planning.queue import AnalysisRequest
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Id
from cadenza.operations.operation import View, operation
from cadenza.operations.planning.rules import OneRule
from cadenza.operations.scheduling.endpoints import require_live
from cadenza.ports.planning import Briefing

USUAL = BriefingBudget()


class TestRule(OneRule):
    """The rule that is meant, and what to try it on."""

    __test__ = False

    endpoint_id: Id | None = None
    """An endpoint of its job; may be left out if the rule is about one alone."""


class CallView(View):
    """A tool that would be called."""

    endpoint: str
    tool: str
    arguments: dict[str, Any]


class RuleTrialView(View):
    """What a rule sees now, and what it would do about it."""

    endpoint_id: str
    run_id: str | None
    """The run that it looks at; null if there was none."""
    holds: bool | None
    """Whether its condition holds; null if that cannot be told."""
    trouble: str | None
    """Why not."""
    incident_since: datetime | None
    """When the incident began that lasts now, as its planner remembers it."""
    calls: list[CallView]
    """What it would do at this moment."""


@operation("POST /v1/rules/{rule_id}/test", Scope.READ)
async def test_rule(context: RequestContext, command: TestRule) -> RuleTrialView:
    """Test a rule on the current state of an endpoint. A dry run, no changes made."""
    rule = await context.store.rules.rule(context.tenant_id, command.rule_id)
    briefing = await _briefing(context, rule, _meant(rule, command))
    key, rule_context = briefing.endpoint.key, _rule_context(briefing)
    state = states_from_note((await context.store.analyses.notes(PLANNER, [key])).get(key)).get(
        rule.id, NO_INCIDENT
    )
    evaluation = context.dependencies.expressions.evaluate(rule.when, rule_context.variables)
    decision = rule_context.decide(rule, state, evaluation)
    called = [one for step in decision.steps for one in rule_context.tool_requests(rule, step)]
    return RuleTrialView(
        endpoint_id=key.id,
        run_id=briefing.recent[0].id if briefing.recent else None,
        holds=evaluation.holds,
        trouble=evaluation.trouble,
        incident_since=state.began_at,
        calls=[
            CallView(endpoint=endpoint.name, tool=call.tool, arguments=dict(call.arguments))
            for endpoint, call in called
        ],
    )


def _rule_context(briefing: Briefing) -> RuleContext:
    return RuleContext(
        briefing.now,
        briefing.endpoint,
        is_new=briefing.trigger in (Trigger.RUN, Trigger.FAILURE),
        recent=briefing.recent,
        siblings=briefing.siblings,
        latest=briefing.latest,
    )


def _meant(rule: Rule, command: TestRule) -> str:
    endpoint_id = command.endpoint_id or rule.endpoint_id
    if endpoint_id is None:
        message = "This rule looks at every endpoint of its job; say which one to try it on."
        raise InvalidRequest(message, "endpoint_id")
    if rule.endpoint_id not in (None, endpoint_id):
        raise InvalidRequest(f"This rule looks at {rule.endpoint_id} alone.", "endpoint_id")
    return endpoint_id


async def _briefing(context: RequestContext, rule: Rule, endpoint_id: str) -> Briefing:
    """What a planner would be told if the newest run had just ended."""
    endpoint = require_live(await context.store.endpoints.get(context.key(endpoint_id)))
    if endpoint.job_id != rule.job_id:
        raise NotFound(f"Endpoint {endpoint_id} not found in the job {rule.job_id}.")
    briefer = Briefer(store=context.store, clock=context.dependencies.clock, budget=USUAL)
    return (await briefer.brief([AnalysisRequest(endpoint.key, Trigger.RUN)]))[endpoint.key]


RULE_TRIAL = (test_rule,)
