"""Runs and hints of the past."""

from datetime import datetime

from cadenza.adapters.stores.common import not_found, run_matches
from cadenza.adapters.stores.memory.tables import MemoryTables
from cadenza.domain.planning.health import EndedRun
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Run
from cadenza.domain.scheduling.steer import HintRecord
from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.scheduling import (
    EVERY_OPEN_RUN,
    EVERY_RUN,
    EndpointWithRuns,
    OpenRunFilter,
    Retention,
    RunFilter,
    RunsFound,
)


class MemoryRuns:
    """Runs and hints of the past."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def run(self, tenant_id: str, run_id: str) -> Run:
        with self._lock:
            for key, runs in self._tables.runs.items():
                if key.tenant_id == tenant_id and run_id in runs:
                    return runs[run_id]
        raise not_found("run", run_id)

    async def runs(self, key: EndpointKey, page: Page = FIRST_PAGE) -> list[Run]:
        with self._lock:
            newest_first = list(reversed(self._tables.runs[key].values())) if key in self._tables.runs else []
        ids = [run.id for run in newest_first]
        start = ids.index(page.after) + 1 if page.after in ids else 0
        return newest_first[start : start + page.limit]

    async def hints(self, key: EndpointKey, page: Page = FIRST_PAGE) -> list[HintRecord]:
        with self._lock:
            start = int(page.after or 0)
            return self._tables.hints.get(key, [])[::-1][start : start + page.limit]

    async def find_runs(
        self, tenant_id: str, *, wanted: RunFilter = EVERY_RUN, page: Page = FIRST_PAGE
    ) -> RunsFound:
        with self._lock:
            runs = [
                run
                for key, of_endpoint in self._tables.runs.items()
                if key.tenant_id == tenant_id
                for run in of_endpoint.values()
                if run_matches(run, wanted) and (page.after is None or run.id < page.after)
            ]
        runs.sort(key=lambda run: run.id, reverse=True)
        found = runs[: page.limit]
        return RunsFound(found, found[-1].id if found and len(runs) > len(found) else None)

    async def open_runs(
        self, tenant_id: str, *, wanted: OpenRunFilter = EVERY_OPEN_RUN, page: Page = FIRST_PAGE
    ) -> list[EndpointWithRuns]:
        with self._lock:
            found = [
                one
                for one in self._tables.endpoints_of(tenant_id)
                if (one.lease or one.requested)
                and one.id > (page.after or "")
                and wanted.endpoint_id in (None, one.id)
                and wanted.job_id in (None, one.job_id)
            ]
            return [EndpointWithRuns(one, self._open_run(one)) for one in found[: page.limit]]

    def _open_run(self, endpoint: Endpoint) -> Run | None:
        lease = endpoint.lease
        return None if lease is None else self._tables.runs[endpoint.key][lease.run_id]

    async def runs_of_slot(self, run: Run) -> list[Run]:
        with self._lock:
            found = self._tables.runs.get(EndpointKey(run.tenant_id, run.endpoint_id), {}).values()
            later = [one for one in found if one.slot == run.slot and one.id >= run.id and one.status]
        return sorted(later, key=lambda one: one.id)

    async def ended(self, key: EndpointKey, *, since: datetime, limit: int) -> list[EndedRun]:
        with self._lock:
            closed = [run for run in self._tables.runs.get(key, {}).values() if run_matches(run, EVERY_RUN)]
        closed.sort(key=lambda run: run.id, reverse=True)
        newest = [_ended(run) for run in closed[:limit]]
        return [one for one in newest if one.finished_at >= since]

    async def delete_old_runs(self, retention: Retention, now: datetime) -> int:
        with self._lock:
            closed = sorted(
                (run.finished_at, run.id, key)
                for key, runs in self._tables.runs.items()
                for run in runs.values()
                if run.finished_at is not None
            )
            most = len(closed) if retention.max_count is None else retention.max_count
            gone = [
                (key, run_id)
                for place, (finished_at, run_id, key) in enumerate(closed)
                if (retention.max_age is not None and finished_at < now - retention.max_age)
                or place < len(closed) - most
            ]
            for key, run_id in gone:
                del self._tables.runs[key][run_id]
            return len(gone)


def _ended(run: Run) -> EndedRun:
    assert run.finished_at is not None, "only closed runs have ended"
    assert run.status is not None, "a closed run has a status"
    return EndedRun(run.finished_at, run.status, run.duration_ms, run.late_ms)
