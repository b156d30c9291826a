"""The planner that learns how often endpoints change, and looks where that shortens delays most."""

from cadenza.adapters.planners.learning.actions import foreign, step
from cadenza.adapters.planners.learning.cache import NOTES_OF, Hand, LearnedMemory
from cadenza.adapters.planners.learning.estimator import Mind, Thought, scope_of
from cadenza.adapters.planners.learning.observations import beat_of
from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.planning.learning.explanation import told
from cadenza.domain.planning.planner_settings import Learning
from cadenza.domain.scheduling.steer import HintKind
from cadenza.ports.catalog import Page
from cadenza.ports.planning import EMPTY_RESULT, Briefing, CallTool, PlannerResult
from cadenza.ports.store import Store

TOLD_EVERY_S = 600.0
"""Thoughts in the shadow are told no more often."""
LAST_HINTS = Page(10)
ORIGIN = f"planner:{NOTES_OF}"


class LearnedPlanner:
    """Learns from every run, in the same time however many there were, and proposes when to look again."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._memory = LearnedMemory(store)
        self._mind = Mind(self._memory)

    @property
    def name(self) -> str:
        """What its sittings and hints are recorded as."""
        return NOTES_OF

    def wants(self, briefing: Briefing) -> bool:
        """After a run; and after a sibling's change, where it may act on it."""
        endpoint = briefing.endpoint
        learning = endpoint.planning.learning
        if learning is Learning.OFF or beat_of(endpoint) is None:
            return False
        if briefing.trigger is Trigger.SIBLING:
            return learning is Learning.ON and self._memory.of(endpoint.key).known.siblings > 0
        return briefing.trigger in (Trigger.RUN, Trigger.FAILURE)

    async def sit(self, briefing: Briefing, call: CallTool) -> PlannerResult:
        """Learn, decide, and act where its owner lets it."""
        endpoint, beat = briefing.endpoint, beat_of(briefing.endpoint)
        if beat is None:
            return EMPTY_RESULT
        await self._memory.recall(endpoint.key, scope_of(endpoint))
        thought = self._mind.think(briefing, beat, origin=await self._whose(briefing))
        acted = thought is not None and await self._acted(briefing, thought, call)
        sitting = EMPTY_RESULT if thought is None else self._said(briefing, thought, acted=acted)
        await self._memory.write(briefing.now)
        return sitting

    async def _whose(self, briefing: Briefing) -> str | None:
        """Whose hint it is that holds, if that is news and not the planner itself."""
        endpoint, memory = briefing.endpoint, self._memory.of(briefing.endpoint.key)
        hint = endpoint.interval_hint
        if hint is None or not foreign(endpoint, memory, briefing.now) or Hand.of(hint) == memory.theirs:
            return None
        lines = await self._store.hints(endpoint.key, LAST_HINTS)
        origin = next((line.origin for line in lines if line.kind is HintKind.INTERVAL), None)
        if origin == ORIGIN:
            self._memory.keep(endpoint.key, self._memory.of(endpoint.key)._replace(mine=Hand.of(hint)))
            return None
        return origin

    async def _acted(self, briefing: Briefing, thought: Thought, call: CallTool) -> bool:
        todo, key = step(briefing, thought), briefing.endpoint.key
        if todo is None:
            return False
        amended = await call(briefing.endpoint, todo.tool, todo.arguments)
        hint = amended.endpoint.interval_hint
        if hint is not None and todo.tool == "propose_interval":
            self._memory.keep(key, self._memory.of(key)._replace(mine=Hand.of(hint)))
        return True

    def _said(self, briefing: Briefing, thought: Thought, *, acted: bool) -> PlannerResult:
        """Its reasons: whenever it acts and, in the shadow, now and then."""
        key, shadow, now_s = briefing.endpoint.key, thought.beat.shadow, briefing.now.timestamp()
        if not acted and not (shadow and thought.looked and now_s - thought.memory.told_s >= TOLD_EVERY_S):
            return EMPTY_RESULT
        self._memory.keep(key, self._memory.of(key)._replace(told_s=now_s))
        words = told(thought.memory.known, thought.pool, proposal=thought.proposal, beat=thought.beat)
        return PlannerResult(words, shadow=shadow)
