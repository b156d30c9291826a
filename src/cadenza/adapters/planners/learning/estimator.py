"""Updates the models with new runs, and estimates the best next interval."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from cadenza.adapters.planners.change_detection import fingerprint, was_executed
from cadenza.adapters.planners.learning.cache import LearnedState, LearningCache, LearningScope
from cadenza.adapters.planners.learning.observations import bounds_of, epoch_seconds, observation_of
from cadenza.domain.planning.learning.learner import Period, learn, with_foreign_hint, with_sibling_change
from cadenza.domain.planning.learning.proposal import Proposal, decide, propose
from cadenza.domain.planning.learning.serialization import PLANNER
from cadenza.domain.planning.learning.state import SharedModel
from cadenza.domain.planning.planner_settings import Learning
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.hint import IntervalHint, rank_of
from cadenza.domain.scheduling.run import Run
from cadenza.ports.planning import Briefing

ORIGIN = f"planner:{PLANNER}"
"""The origin of this planner's hints."""


class Estimate(NamedTuple):
    """The proposal for one endpoint, and the models behind it."""

    period: Period
    state: LearnedState
    shared: SharedModel
    proposal: Proposal
    has_new_run: bool
    """Whether it has run since the last analysis; otherwise a sibling changed."""

    @property
    def interval_ms(self) -> int:
        """The interval to propose."""
        return max(round(self.proposal.periods * self.period.seconds * 1_000), 1)


def foreign_hint(endpoint: Endpoint, now: datetime) -> IntervalHint | None:
    """The interval hint of another origin that is in effect."""
    hint = endpoint.interval_hint
    return hint if hint is not None and hint.fresh(now) and hint.origin != ORIGIN else None


def learning_scope(endpoint: Endpoint) -> LearningScope:
    """The budget of an endpoint is its job's, if that has one; else one for all of the tenant's others.

    Shadow mode has budgets of its own, so that it does not change the price of actual runs.
    """
    planning = endpoint.planning
    mode = "on" if planning.learning is Learning.ON else "shadow"
    job = "" if planning.runs_per_hour is None else f":{endpoint.job_id}"
    return LearningScope(endpoint.tenant_id, f"{mode}{job}", endpoint.job_id)


class Estimator:
    """Learns and proposes without awaiting anything, since all analyses of a tenant share one model."""

    def __init__(self, cache: LearningCache) -> None:
        self._cache = cache

    def estimate(self, briefing: Briefing, period: Period) -> Estimate | None:
        """Learn from new runs, and propose; None while there is no run yet.

        1. A hint of another origin is a signal, as strong as the track record of its rank.
        2. The models learn from every new run, oldest first.
        3. A proposal is made; without a new run it leaves the price as it is.
        4. A change is passed on to the siblings' models.
        """
        endpoint, scope = briefing.endpoint, learning_scope(briefing.endpoint)
        before = self._prepared_state(briefing, period)
        new_runs = _new_runs(briefing, before)
        state, shared, changed = _learn_from(
            before, new_runs, endpoint=endpoint, shared=self._cache.shared(scope), period=period
        )
        if state.model.at_s is None:
            return None
        at_s, bounds = briefing.now.timestamp(), bounds_of(endpoint, period, briefing.now)
        if new_runs:
            model, shared, proposal = decide(state.model, shared, period=period, at_s=at_s, bounds=bounds)
            state = state._replace(model=model)
            self._cache.put_shared(scope, shared)
        else:
            proposal = propose(state.model, shared, period=period, at_s=at_s, bounds=bounds)
        self._cache.put(endpoint.key, state)
        if changed:
            self._inform_siblings(briefing)
        return Estimate(period, state, shared, proposal, bool(new_runs))

    def _prepared_state(self, briefing: Briefing, period: Period) -> LearnedState:
        """The state before learning, with a foreign hint; another period starts from scratch."""
        state, hint = self._cache.get(briefing.endpoint.key), foreign_hint(briefing.endpoint, briefing.now)
        if state.period_s != period.seconds:
            state = LearnedState(period_s=period.seconds)
        if hint is None:
            return state
        source, until_s = rank_of(hint.origin).name.lower(), hint.expires_at.timestamp()
        return state._replace(model=with_foreign_hint(state.model, source, until_s=until_s))

    def _inform_siblings(self, briefing: Briefing) -> None:
        for sibling in briefing.siblings.values():
            state = self._cache.get(sibling.key)
            if state.model.at_s is not None:
                model = with_sibling_change(state.model, briefing.now.timestamp(), period_s=state.period_s)
                self._cache.put(sibling.key, state._replace(model=model))


def _new_runs(briefing: Briefing, state: LearnedState) -> list[Run]:
    """The runs that were not learned from yet, oldest first."""
    last_s = state.model.at_s
    executed = [run for run in reversed(briefing.recent) if was_executed(run)]
    return [run for run in executed if last_s is None or epoch_seconds(run.started_at) > last_s]


def _learn_from(
    state: LearnedState, runs: Sequence[Run], *, endpoint: Endpoint, shared: SharedModel, period: Period
) -> tuple[LearnedState, SharedModel, bool]:
    changed = False
    for run in runs:
        latest = fingerprint(endpoint, run)
        changed = state.fingerprint is not None and latest != state.fingerprint
        observation = observation_of(endpoint, run, changed=changed, period=period)
        model, shared = learn(state.model, observation, shared=shared, period=period)
        state = state._replace(model=model, fingerprint=latest)
    return state, shared, changed
