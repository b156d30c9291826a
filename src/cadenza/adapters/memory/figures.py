"""Figures from dictionaries."""

from collections.abc import Collection, Iterable
from datetime import datetime
from itertools import islice

from cadenza.adapters.memory.analyses import MemoryAnalyses
from cadenza.domain.analysis import Analysis
from cadenza.domain.due import claimable_at
from cadenza.domain.endpoint import Endpoint, EndpointKey
from cadenza.domain.health import Ended
from cadenza.domain.run import Run
from cadenza.ports.figures import Ahead, Mark, Sat


class MemoryFigures(MemoryAnalyses):
    """What is ahead, in flight and behind."""

    async def these(self, keys: Collection[EndpointKey]) -> list[Endpoint]:
        with self._lock:
            found = [self._endpoints[key] for key in sorted(set(keys)) if key in self._endpoints]
        return [one for one in found if not one.archived]

    async def ahead(self, tenant_id: str, *, until: datetime, limit: int) -> list[Ahead]:
        with self._lock:
            due = [(claimable_at(one), one) for one in self._of_tenant(tenant_id)]
        found = sorted(
            ((at, one) for at, one in due if at is not None and at < until), key=lambda pair: pair[0]
        )
        return [Ahead(one.next_run_at or at, one.baseline, one.interval_hint) for at, one in found[:limit]]

    async def in_flight(self, tenant_id: str, most: int) -> int:
        with self._lock:
            return len(list(islice((one for one in self._of_tenant(tenant_id) if one.lease), most)))

    async def latest(self, tenant_id: str, *, since: datetime, limit: int) -> list[Ended]:
        with self._lock:
            ended = [
                run
                for key, runs in self._runs.items()
                if key.tenant_id == tenant_id
                for run in _closed(runs.values())
            ]
        newest = sorted(ended, key=lambda run: run.id, reverse=True)[:limit]
        return [one for one in map(_ended, newest) if one.finished_at >= since]

    async def latest_of(self, keys: Collection[EndpointKey], *, each: int) -> dict[EndpointKey, list[Ended]]:
        with self._lock:
            found = {key: _closed(self._runs[key].values()) for key in keys if key in self._runs}
        return {key: [_ended(run) for run in runs[: -each - 1 : -1]] for key, runs in found.items() if runs}

    async def stretch(self, key: EndpointKey, *, since: datetime, until: datetime, limit: int) -> list[Run]:
        with self._lock:
            closed = _closed(self._runs[key].values()) if key in self._runs else []
        inside = [run for run in closed if run.finished_at is not None and since <= run.finished_at < until]
        return [run._replace(response=None) for run in inside[: -limit - 1 : -1]]

    async def sat(self, tenant_id: str, *, since: datetime, limit: int) -> list[Sat]:
        with self._lock:
            every = [one for of_endpoint in self._analyses.values() for one in of_endpoint.values()]
        lately = [one for one in every if one.tenant_id == tenant_id and one.began_at >= since]
        newest = sorted(lately, key=lambda one: one.began_at, reverse=True)
        return [
            Sat(one.planner, one.began_at, one.tokens, one.shadow, one.error is not None, one.endpoint_id)
            for one in newest[:limit]
        ]

    async def sittings(self, tenant_id: str, *, before: Mark, limit: int) -> list[Analysis]:
        with self._lock:
            every = [one for of_endpoint in self._analyses.values() for one in of_endpoint.values()]
        older = [one for one in every if one.tenant_id == tenant_id and (one.began_at, one.id) < before]
        return sorted(older, key=lambda one: (one.began_at, one.id), reverse=True)[:limit]


def _closed(runs: Iterable[Run]) -> list[Run]:
    return sorted((run for run in runs if run.status is not None), key=lambda run: run.id)


def _ended(run: Run) -> Ended:
    assert run.finished_at is not None, "it is closed"
    assert run.status is not None, "it is closed"
    return Ended(run.finished_at, run.status, run.duration_ms, run.late_ms)
