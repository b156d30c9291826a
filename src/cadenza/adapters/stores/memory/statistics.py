"""Figures from dictionaries."""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from itertools import islice
from operator import attrgetter

from cadenza.adapters.stores.memory.analyses import MemoryAnalyses
from cadenza.domain.planning.analysis import Analysis, Tokens
from cadenza.domain.planning.health import Ended
from cadenza.domain.scheduling.due import claimable_at
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Run
from cadenza.ports.monitoring import Ahead, Mark, Sat, Together

KEY_OF: Mapping[Together, Callable[[Analysis], str]] = {
    Together.ALL: lambda _: "",
    Together.DAY: lambda one: one.began_at.date().isoformat(),
    Together.ENDPOINT: attrgetter("endpoint_id"),
}


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

    async def sat(
        self, tenant_id: str, *, together: Together, since: datetime, limit: int, most: int
    ) -> list[Sat]:
        with self._lock:
            every = [one for of_endpoint in self._analyses.values() for one in of_endpoint.values()]
        lately = [one for one in every if one.tenant_id == tenant_id and one.began_at >= since]
        groups: dict[tuple[str, str], list[Analysis]] = {}
        for one in sorted(lately, key=lambda one: one.began_at, reverse=True)[:limit]:
            groups.setdefault((KEY_OF[together](one), one.planner), []).append(one)
        return sorted((_sat(*key, ones) for key, ones in groups.items()), key=_dearest)[:most]

    async def sittings(self, tenant_id: str, *, before: Mark, limit: int) -> list[Analysis]:
        with self._lock:
            every = [one for of_endpoint in self._analyses.values() for one in of_endpoint.values()]
        older = [one for one in every if one.tenant_id == tenant_id and (one.began_at, one.id) < before]
        return sorted(older, key=lambda one: (one.began_at, one.id), reverse=True)[:limit]


def _closed(runs: Iterable[Run]) -> list[Run]:
    return sorted((run for run in runs if run.status is not None), key=lambda run: run.id)


def _sat(of: str, planner: str, ones: list[Analysis]) -> Sat:
    return Sat(
        of,
        planner,
        sittings=len(ones),
        failed=sum(one.error is not None for one in ones),
        shadow=sum(one.shadow for one in ones),
        tokens=Tokens(sum(one.tokens.input for one in ones), sum(one.tokens.output for one in ones)),
        last_at=max(one.began_at for one in ones),
    )


def _dearest(sat: Sat) -> tuple[int, int, str, str]:
    return -sat.tokens.total, -sat.sittings, sat.of, sat.planner


def _ended(run: Run) -> Ended:
    assert run.finished_at is not None, "it is closed"
    assert run.status is not None, "it is closed"
    return Ended(run.finished_at, run.status, run.duration_ms, run.late_ms)
