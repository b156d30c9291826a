"""The rules of jobs, remembered for a moment."""

import asyncio

from cadenza.domain.planning.rules.rule import MOST_RULES, Rule
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.ports.catalog import Page
from cadenza.ports.planning import RuledJob, RuleFilter, RuleStore

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
