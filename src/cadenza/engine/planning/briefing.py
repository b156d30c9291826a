"""What planners are told, read for many endpoints at once and within a budget."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.planning.health import MOST_COUNTED, WINDOWS_H, health
from cadenza.domain.planning.run_changes import trigger_of
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Run
from cadenza.engine.planning.queue import Look
from cadenza.ports.clock import Clock
from cadenza.ports.planning import Briefing
from cadenza.ports.store import Store

Recent = dict[EndpointKey, list[Run]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefingBudget:
    """How much a planner is told."""

    siblings: int = 50
    runs: int = 20
    response_bytes: int = 65_536
    """Of all recent responses together; the newest always comes whole."""


class Briefer:
    """Builds briefings from a handful of reads, however many endpoints they are about."""

    def __init__(self, *, store: Store, clock: Clock, budget: BriefingBudget) -> None:
        self._store = store
        self._clock = clock
        self._budget = budget

    async def brief(self, looks: Sequence[Look]) -> dict[EndpointKey, Briefing]:
        """A briefing for every endpoint that is still there, without its health."""
        budget = self._budget
        keys = [look.key for look in looks]
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
            look.key: self._briefing(look, own, _company(own, jobs), recent)
            for look in looks
            if (own := endpoints.get(look.key)) is not None
        }

    async def with_health(self, briefing: Briefing) -> Briefing:
        """The same, with the endpoint's health."""
        since = briefing.now - timedelta(hours=max(WINDOWS_H))
        ended = await self._store.catalog.ended(briefing.endpoint.key, since=since, limit=MOST_COUNTED)
        return replace(briefing, health=health(ended, briefing.now))

    def _briefing(
        self, look: Look, endpoint: Endpoint, company: Sequence[Endpoint], recent: Recent
    ) -> Briefing:
        siblings = {one.name: one for one in company[: self._budget.siblings]}
        runs = recent.get(look.key, [])
        return Briefing(
            now=self._clock.now(),
            endpoint=endpoint,
            trigger=trigger_of(runs) if look.trigger is Trigger.RUN else look.trigger,
            recent=runs,
            siblings=siblings,
            latest={name: recent[one.key][0] for name, one in siblings.items() if one.key in recent},
        )


def _company(endpoint: Endpoint, jobs: dict[tuple[str, str], list[Endpoint]]) -> list[Endpoint]:
    """The others of its job."""
    return [one for one in jobs[endpoint.tenant_id, endpoint.job_id] if one.key != endpoint.key]
