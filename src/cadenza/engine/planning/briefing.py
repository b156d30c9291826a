"""Builds briefings for many endpoints at once, within a budget."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from cadenza.domain.agents.probe import as_looks, probe_of
from cadenza.domain.agents.schedule_protection import is_schedule
from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.planning.health import MOST_COUNTED, WINDOWS_H, health
from cadenza.domain.planning.run_changes import trigger_of
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Run
from cadenza.engine.planning.queue import AnalysisRequest
from cadenza.ports.clock import Clock
from cadenza.ports.planning import Briefing
from cadenza.ports.store import Store

Recent = dict[EndpointKey, list[Run]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefingBudget:
    """The size limits of a briefing."""

    siblings: int = 50
    runs: int = 20
    response_bytes: int = 65_536
    """Of all recent responses together; the newest is always included whole."""


class Briefer:
    """Builds briefings with three reads, however many endpoints they are about."""

    def __init__(self, *, store: Store, clock: Clock, budget: BriefingBudget) -> None:
        self._store = store
        self._clock = clock
        self._budget = budget

    async def brief(self, requests: Sequence[AnalysisRequest]) -> dict[EndpointKey, Briefing]:
        """A briefing for every endpoint that still exists and can be looked at, without its health."""
        budget = self._budget
        keys = [request.key for request in requests]
        endpoints = {one.key: one for one in await self._store.analyses.with_siblings(keys, budget.siblings)}
        there = [key for key in keys if key in endpoints]
        others = list(endpoints.keys() - set(there))
        recent = await self._store.analyses.recent_runs(
            there, each=budget.runs, most_bytes=budget.response_bytes
        )
        recent |= await self._store.analyses.recent_runs(others, each=1, most_bytes=0)
        jobs: dict[tuple[str, str], list[Endpoint]] = defaultdict(list)
        for endpoint in sorted(endpoints.values(), key=lambda one: one.id):
            jobs[endpoint.tenant_id, endpoint.job_id].append(endpoint)
        return {
            request.key: self._briefing(request, own, _others_of_job(own, jobs), recent)
            for request in requests
            if (own := endpoints.get(request.key)) is not None and _is_analyzed(own)
        }

    async def with_health(self, briefing: Briefing) -> Briefing:
        """The briefing with the endpoint's health."""
        since = briefing.now - timedelta(hours=max(WINDOWS_H))
        ended = await self._store.runs.ended(briefing.endpoint.key, since=since, limit=MOST_COUNTED)
        return replace(briefing, health=health(ended, briefing.now))

    def _briefing(
        self, request: AnalysisRequest, endpoint: Endpoint, others: Sequence[Endpoint], recent: Recent
    ) -> Briefing:
        siblings = {one.name: one for one in others[: self._budget.siblings]}
        seen, runs = as_looks(endpoint, recent.get(request.key, []))
        return Briefing(
            now=self._clock.now(),
            endpoint=seen,
            trigger=trigger_of(runs) if request.trigger is Trigger.RUN else request.trigger,
            recent=runs,
            siblings=siblings,
            latest={name: recent[one.key][0] for name, one in siblings.items() if one.key in recent},
        )


def _is_analyzed(endpoint: Endpoint) -> bool:
    """Is there anything to look at? A prompt without a probe comes when its user said."""
    return not is_schedule(endpoint) or probe_of(endpoint) is not None


def _others_of_job(endpoint: Endpoint, jobs: dict[tuple[str, str], list[Endpoint]]) -> list[Endpoint]:
    """The other endpoints of its job; the schedules of users have nothing to do with each other."""
    if is_schedule(endpoint):
        return []
    return [one for one in jobs[endpoint.tenant_id, endpoint.job_id] if one.key != endpoint.key]
