"""The planner that evaluates the rules that owners wrote."""

import asyncio
from collections.abc import Mapping
from datetime import datetime

from cadenza.domain.errors import CadenzaError, Unavailable
from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.planning.rules.context import RuleContext
from cadenza.domain.planning.rules.incidents import (
    NO_INCIDENT,
    PLANNER,
    IncidentState,
    states_from_note,
    states_to_note,
)
from cadenza.domain.planning.rules.rule import MOST_RULES, Rule, Step
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.validation import iso, milliseconds
from cadenza.ports.catalog import Page
from cadenza.ports.planning import (
    EMPTY_RESULT,
    AnalysisStore,
    Briefing,
    CallTool,
    Expressions,
    JobKey,
    PlannerResult,
    RuleFilter,
    RuleStore,
)

MAX_AGE_S = 0.5
"""For how long a new rule may go unnoticed."""
ALL_OF_A_JOB = Page(MOST_RULES)


class RuleCache:
    """The rules of jobs, read again when they are stale; an endpoint of a job without rules costs no read."""

    def __init__(self, store: RuleStore) -> None:
        self._store = store
        self._jobs: frozenset[JobKey] = frozenset()
        self._rules: dict[JobKey, list[Rule]] = {}
        self._expires_at = 0.0

    def may_have_rules(self, endpoint: Endpoint) -> bool:
        """Whether its job may have rules; False only while the cache is fresh."""
        return self._is_stale() or _job_key(endpoint) in self._jobs

    async def rules_for(self, endpoint: Endpoint) -> list[Rule]:
        """The rules that apply to it, in the order of their ids."""
        if self._is_stale():
            await self._read_jobs()
        job = _job_key(endpoint)
        if job in self._jobs and job not in self._rules:
            wanted = RuleFilter(job_id=job.job_id)
            self._rules[job] = await self._store.rules(job.tenant_id, wanted=wanted, page=ALL_OF_A_JOB)
        return [rule for rule in self._rules.get(job, ()) if rule.applies_to(endpoint.id)]

    async def _read_jobs(self) -> None:
        self._jobs = await self._store.jobs_with_rules()
        self._rules = {}
        self._expires_at = asyncio.get_running_loop().time() + MAX_AGE_S

    def _is_stale(self) -> bool:
        return asyncio.get_running_loop().time() >= self._expires_at


def _job_key(endpoint: Endpoint) -> JobKey:
    return JobKey(endpoint.tenant_id, endpoint.job_id)


class RulePlanner:
    """Evaluates the rules of an endpoint's job, and calls tools for those that hold."""

    def __init__(self, rules: RuleStore, analyses: AnalysisStore, expressions: Expressions) -> None:
        self._analyses = analyses
        self._expressions = expressions
        self._cache = RuleCache(rules)

    @property
    def name(self) -> str:
        """The name under which its analyses and hints are recorded."""
        return PLANNER

    def wants(self, briefing: Briefing) -> bool:
        """Whether its job may have rules."""
        return self._cache.may_have_rules(briefing.endpoint)

    async def sit(self, briefing: Briefing, call: CallTool) -> PlannerResult:
        """Decide on every rule, take its steps, and save the states that changed."""
        rules = await self._cache.rules_for(briefing.endpoint)
        if not rules:
            return EMPTY_RESULT
        before = await self._states(briefing.endpoint)
        context = _rule_context(briefing)
        reasoning: list[str] = []
        next_moments: list[datetime] = []
        after: dict[str, IncidentState] = {}
        for rule in rules:
            state = before.get(rule.id, NO_INCIDENT)
            decision = context.decide(rule, state, self._expressions.evaluate(rule.when, context.variables))
            after[rule.id] = decision.state
            reasoning += _state_changes(rule, state, decision.state)
            reasoning += [await _take(rule, step, context=context, call=call) for step in decision.steps]
            next_moments += [] if decision.look_again_at is None else [decision.look_again_at]
        if after != before:
            await self._save_states(briefing, after)
        look_again_ms = (min(next_moments) - briefing.now) // milliseconds(1) if next_moments else None
        return PlannerResult("\n".join(reasoning), look_again_ms=look_again_ms)

    async def _states(self, endpoint: Endpoint) -> dict[str, IncidentState]:
        return states_from_note((await self._analyses.notes(PLANNER, [endpoint.key])).get(endpoint.key))

    async def _save_states(self, briefing: Briefing, states: Mapping[str, IncidentState]) -> None:
        await self._analyses.save_notes(
            PLANNER, {briefing.endpoint.key: states_to_note(states)}, briefing.now
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


async def _take(rule: Rule, step: Step, *, context: RuleContext, call: CallTool) -> str:
    """Call the tools of a step, and say what happened; a step whose call is refused counts as taken."""
    endpoint = context.endpoint_of(step)
    if endpoint is None:
        return f"{rule.name}: there is no endpoint {step.endpoint} beside this one."
    notes: list[str | None] = []
    try:
        for target, (tool, arguments) in context.tool_requests(rule, step):
            amended = await call(target, tool, arguments, rule=rule.name, rank=rule.rank)
            context.update(amended.endpoint)
            notes.append(amended.note)
    except Unavailable:
        raise
    except CadenzaError as problem:
        return f"{rule.name}: {step.tool} of {endpoint.name} was refused: {problem.message}"
    return " ".join(filter(None, (f"{rule.name}: {step.tool} of {endpoint.name}.", *notes)))


def _state_changes(rule: Rule, before: IncidentState, after: IncidentState) -> list[str]:
    """What changed: the incident began, ended or escalated, or the condition could not be evaluated."""
    changes = []
    if after.trouble is not None and after.trouble != before.trouble:
        changes.append(f"{rule.name} does not match: {after.trouble}")
    if after.began_at is not None and before.began_at is None:
        changes.append(f"{rule.name} holds.")
    if after.began_at is None and before.began_at is not None:
        changes.append(f"{rule.name} is over; it held since {iso(before.began_at)}.")
    if after.escalated > before.escalated and after.began_at is not None:
        changes.append(f"{rule.name} has held since {iso(after.began_at)}: step {after.escalated}.")
    return changes
