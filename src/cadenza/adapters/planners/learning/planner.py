"""The planner that learns how often endpoints change, and spends runs where they shorten delays most."""

from cadenza.adapters.planners.learning.actions import choose_action
from cadenza.adapters.planners.learning.cache import LearningCache
from cadenza.adapters.planners.learning.estimator import Estimate, Estimator, learning_scope
from cadenza.adapters.planners.learning.observations import period_of
from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.planning.learning.explanation import explanation
from cadenza.domain.planning.learning.serialization import PLANNER
from cadenza.domain.planning.planner_settings import Learning
from cadenza.ports.planning import EMPTY_RESULT, Briefing, CallTool, PlannerResult
from cadenza.ports.store import Store

EXPLAIN_EVERY_S = 600.0
"""How often reasoning is recorded in shadow mode, at most."""


class LearningPlanner:
    """Learns from every run in constant time, and proposes the next interval."""

    def __init__(self, store: Store) -> None:
        self._cache = LearningCache(store.analyses)
        self._estimator = Estimator(self._cache)

    @property
    def name(self) -> str:
        """The name under which its analyses and hints are recorded."""
        return PLANNER

    def wants(self, briefing: Briefing) -> bool:
        """After a run; and after a sibling's change, where it may steer."""
        endpoint = briefing.endpoint
        learning = endpoint.planning.learning
        if learning is Learning.OFF or period_of(endpoint, briefing.now) is None:
            return False
        if briefing.trigger is Trigger.SIBLING:
            return learning is Learning.ON and self._cache.get(endpoint.key).model.sibling_excitation > 0
        return briefing.trigger in (Trigger.RUN, Trigger.FAILURE)

    async def sit(self, briefing: Briefing, call: CallTool) -> PlannerResult:
        """Learn, propose, and steer where the owner allows it."""
        endpoint, period = briefing.endpoint, period_of(briefing.endpoint, briefing.now)
        if period is None:
            return EMPTY_RESULT
        await self._cache.load(endpoint.key, learning_scope(endpoint))
        estimate = self._estimator.estimate(briefing, period)
        steered = estimate is not None and await self._act(briefing, estimate, call)
        result = EMPTY_RESULT if estimate is None else self._result(briefing, estimate, steered=steered)
        await self._cache.save(briefing.now)
        return result

    async def _act(self, briefing: Briefing, estimate: Estimate, call: CallTool) -> bool:
        request = choose_action(briefing, estimate)
        if request is None:
            return False
        await call(briefing.endpoint, request.tool, request.arguments)
        return True

    def _result(self, briefing: Briefing, estimate: Estimate, *, steered: bool) -> PlannerResult:
        """The reasoning: whenever it steers and, in shadow mode, from time to time."""
        key, shadow, now_s = briefing.endpoint.key, estimate.period.shadow, briefing.now.timestamp()
        if not steered and not (
            shadow and estimate.has_new_run and now_s - estimate.state.explained_s >= EXPLAIN_EVERY_S
        ):
            return EMPTY_RESULT
        self._cache.put(key, self._cache.get(key)._replace(explained_s=now_s))
        reasoning = explanation(
            estimate.state.model, estimate.shared, proposal=estimate.proposal, period=estimate.period
        )
        return PlannerResult(reasoning, shadow=shadow)
