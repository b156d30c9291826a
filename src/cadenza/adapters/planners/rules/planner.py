"""The planner that does what owners wrote down."""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from cadenza.domain.errors import CadenzaError, Unavailable
from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.planning.rules.context import Scene
from cadenza.domain.planning.rules.incidents import NOTES_OF, UNTOUCHED, Decision, Memory, recalled, written
from cadenza.domain.planning.rules.rule import MOST_RULES, Rule, Step
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.validation import iso, milliseconds
from cadenza.ports.catalog import Page
from cadenza.ports.planning import (
    NOTHING_TO_SAY,
    AnalysisStore,
    Briefing,
    CallTool,
    Expressions,
    RuledJob,
    RuleFilter,
    RuleStore,
    Sitting,
)

FRESH_S = 0.5
"""So long after it was written a rule may go unnoticed."""
ALL_OF_A_JOB = Page(MOST_RULES)


class Rulebook:
    """Knows which jobs have rules, so that all others cost nothing."""

    def __init__(self, store: RuleStore) -> None:
        self._store = store
        self._jobs: frozenset[RuledJob] = frozenset()
        self._rules: dict[RuledJob, list[Rule]] = {}
        self._stale_at = 0.0

    def may_concern(self, endpoint: Endpoint) -> bool:
        """Might there be rules about it? Only what was just read can say no."""
        return self._stale() or _job(endpoint) in self._jobs

    async def concerning(self, endpoint: Endpoint) -> list[Rule]:
        """The rules that look at it, in the order of their ids."""
        if self._stale():
            await self._read_jobs()
        job = _job(endpoint)
        if job in self._jobs and job not in self._rules:
            wanted = RuleFilter(job_id=job.job_id)
            self._rules[job] = await self._store.rules(job.tenant_id, wanted=wanted, page=ALL_OF_A_JOB)
        return [rule for rule in self._rules.get(job, ()) if rule.concerns(endpoint.id)]

    async def _read_jobs(self) -> None:
        self._jobs = await self._store.ruled_jobs()
        self._rules = {}
        self._stale_at = asyncio.get_running_loop().time() + FRESH_S

    def _stale(self) -> bool:
        return asyncio.get_running_loop().time() >= self._stale_at


def _job(endpoint: Endpoint) -> RuledJob:
    return RuledJob(endpoint.tenant_id, endpoint.job_id)


class Shelf(RuleStore, AnalysisStore, Protocol):
    """Where rules are kept, and what they remember."""


class RulePlanner:
    """Evaluates the rules of an endpoint's job, and calls tools for those that hold."""

    def __init__(self, store: Shelf, expressions: Expressions) -> None:
        self._store = store
        self._expressions = expressions
        self._book = Rulebook(store)

    @property
    def name(self) -> str:
        """What its sittings and hints are recorded as."""
        return NOTES_OF

    def wants(self, briefing: Briefing) -> bool:
        """If its job may have rules."""
        return self._book.may_concern(briefing.endpoint)

    async def sit(self, briefing: Briefing, call: CallTool) -> Sitting:
        """Decide on every rule, act, and remember; where nothing is new there is nothing to say."""
        rules = await self._book.concerning(briefing.endpoint)
        if not rules:
            return NOTHING_TO_SAY
        before = await self._memories(briefing.endpoint)
        scene = _scene(briefing)
        said: list[str] = []
        looks: list[datetime] = []
        after: dict[str, Memory] = {}
        for rule in rules:
            memory = before.get(rule.id, UNTOUCHED)
            decision = self._decided(rule, memory, scene)
            after[rule.id] = decision.memory
            said += _news(rule, memory, decision.memory)
            said += [await _act(rule, step, scene=scene, call=call) for step in decision.steps]
            looks += [] if decision.look_again_at is None else [decision.look_again_at]
        if after != before:
            await self._remember(briefing, after)
        look_ms = (min(looks) - briefing.now) // milliseconds(1) if looks else None
        return Sitting("\n".join(said), look_again_ms=look_ms)

    def _decided(self, rule: Rule, memory: Memory, scene: Scene) -> Decision:
        holds, trouble = self._expressions.ask(rule.when, scene.facts)
        return scene.decide(rule, memory, holds=holds, trouble=trouble)

    async def _memories(self, endpoint: Endpoint) -> dict[str, Memory]:
        return recalled((await self._store.notes(NOTES_OF, [endpoint.key])).get(endpoint.key))

    async def _remember(self, briefing: Briefing, memories: Mapping[str, Memory]) -> None:
        await self._store.take_notes(NOTES_OF, {briefing.endpoint.key: written(memories)}, briefing.now)


def _scene(briefing: Briefing) -> Scene:
    return Scene(
        briefing.now,
        briefing.endpoint,
        is_new=briefing.trigger in (Trigger.RUN, Trigger.FAILURE),
        recent=briefing.recent,
        siblings=briefing.siblings,
        latest=briefing.latest,
    )


async def _act(rule: Rule, step: Step, *, scene: Scene, call: CallTool) -> str:
    """Call the tools of a step, and tell what came of it; one that is refused counts as done."""
    endpoint = scene.meant(step)
    if endpoint is None:
        return f"{rule.name}: there is no endpoint {step.endpoint} beside this one."
    try:
        for steered, (tool, arguments) in scene.calls(rule, step):
            amended = await call(steered, tool, arguments)
            scene.became(amended.endpoint)
    except Unavailable:
        raise
    except CadenzaError as problem:
        return f"{rule.name}: {step.tool} of {endpoint.name} was refused: {problem.message}"
    return f"{rule.name}: {step.tool} of {endpoint.name}."


def _news(rule: Rule, before: Memory, after: Memory) -> list[str]:
    """What is new about a rule: its incident, and why it cannot tell."""
    said = []
    if after.trouble is not None and after.trouble != before.trouble:
        said.append(f"{rule.name} does not match: {after.trouble}")
    if after.began_at is not None and before.began_at is None:
        said.append(f"{rule.name} holds.")
    if after.began_at is None and before.began_at is not None:
        said.append(f"{rule.name} is over; it held since {iso(before.began_at)}.")
    if after.escalated > before.escalated and after.began_at is not None:
        said.append(f"{rule.name} has held since {iso(after.began_at)}: step {after.escalated}.")
    return said
