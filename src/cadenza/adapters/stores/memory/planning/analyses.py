"""The feed of ended runs, and analyses, next looks and notes of planners."""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from itertools import islice

from cadenza.adapters.stores.memory.tables import MemoryTables
from cadenza.domain.json_values import Json
from cadenza.domain.planning.analysis import Analysis, Tokens
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Run
from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.planning import DailyAnalysisUsage, EndedRuns, NextAnalysis


class MemoryAnalyses:
    """What planners read and write."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def ended_since(self, cursor: str | None, limit: int) -> EndedRuns:
        with self._lock:
            end = self._tables.feed_dropped + len(self._tables.feed)
            place = end
            if cursor is not None:
                with suppress(ValueError):
                    place = int(cursor)
            first = max(min(place, end), self._tables.feed_dropped)
            runs = list(
                islice(
                    self._tables.feed,
                    first - self._tables.feed_dropped,
                    first - self._tables.feed_dropped + limit,
                )
            )
            return EndedRuns(runs, str(first + len(runs)))

    async def with_siblings(self, keys: Collection[EndpointKey], most: int) -> list[Endpoint]:
        with self._lock:
            meant = [
                self._tables.endpoints[key] for key in dict.fromkeys(keys) if key in self._tables.endpoints
            ]
            found = {one.key: one for one in meant if not one.archived}
            for tenant_id, job_id in {(one.tenant_id, one.job_id) for one in found.values()}:
                of_job = (one for one in self._tables.endpoints_of(tenant_id) if one.job_id == job_id)
                others = (one for one in of_job if not one.archived)
                found |= {one.key: one for one in islice(others, most + 1)}
            return list(found.values())

    async def recent_runs(
        self, keys: Collection[EndpointKey], *, each: int, most_bytes: int
    ) -> dict[EndpointKey, list[Run]]:
        with self._lock:
            found = {key: self._recent(key, each, most_bytes) for key in keys}
        return {key: runs for key, runs in found.items() if runs}

    async def add_analyses(
        self, analyses: Sequence[Analysis], next_analyses: Sequence[NextAnalysis] = ()
    ) -> None:
        with self._lock:
            for one in analyses:
                key = EndpointKey(one.tenant_id, one.endpoint_id)
                if key not in self._tables.endpoints:
                    continue
                self._tables.analyses[key].setdefault(one.id, one)
                self._want(NextAnalysis(key, one.planner, one.look_again_at))
            for look in next_analyses:
                self._want(look)

    async def analyses(self, key: EndpointKey, page: Page = FIRST_PAGE) -> list[Analysis]:
        with self._lock:
            newest = sorted(self._tables.analyses.get(key, {}).values(), key=lambda one: one.id, reverse=True)
        return [one for one in newest if page.after is None or one.id < page.after][: page.limit]

    async def usage_by_day(self, key: EndpointKey, since: datetime) -> list[DailyAnalysisUsage]:
        counts: Counter[tuple[date, str]] = Counter()
        tokens: dict[tuple[date, str], Tokens] = defaultdict(Tokens)
        with self._lock:
            for one in self._tables.analyses.get(key, {}).values():
                if one.began_at >= since:
                    place = (one.began_at.astimezone(UTC).date(), one.planner)
                    counts[place] += 1
                    spent = tokens[place]
                    tokens[place] = Tokens(spent.input + one.tokens.input, spent.output + one.tokens.output)
        days = [DailyAnalysisUsage(*place, count, tokens[place]) for place, count in counts.items()]
        return sorted(days, key=lambda one: (-one.day.toordinal(), one.planner))

    async def due_analyses(self, now: datetime, *, again_at: datetime, limit: int) -> list[NextAnalysis]:
        with self._lock:
            due = sorted((at, *place) for place, at in self._tables.looks.items() if at <= now)[:limit]
            for _, key, planner in due:
                self._tables.looks[key, planner] = again_at
        return [NextAnalysis(key, planner, at) for at, key, planner in due]

    async def save_notes(self, planner: str, notes: Mapping[EndpointKey, Json], now: datetime) -> None:
        written = {(planner, key): (json.dumps(note), now) for key, note in notes.items()}
        with self._lock:
            self._tables.notes |= written

    async def notes(self, planner: str, keys: Collection[EndpointKey]) -> dict[EndpointKey, Json]:
        with self._lock:
            found = {
                key: self._tables.notes[planner, key] for key in keys if (planner, key) in self._tables.notes
            }
        return {key: json.loads(note) for key, (note, _) in found.items()}

    async def forget_analyses(self, before: datetime) -> int:
        with self._lock:
            old = [
                (key, one.id)
                for key, of_endpoint in self._tables.analyses.items()
                for one in of_endpoint.values()
                if one.began_at < before
            ]
            for key, analysis_id in old:
                del self._tables.analyses[key][analysis_id]
            return len(old)

    def _recent(self, key: EndpointKey, each: int, most_bytes: int) -> list[Run]:
        newest_first = reversed(self._tables.runs.get(key, {}).values())
        closed = list(islice((run for run in newest_first if run.finished_at is not None), each))
        sizes = [len(json.dumps(run.response)) if run.response is not None else 0 for run in closed]
        fitting = 1
        while fitting < len(sizes) and sum(sizes[: fitting + 1]) <= most_bytes:
            fitting += 1
        return closed[:fitting]

    def _want(self, look: NextAnalysis) -> None:
        if look.at is None:
            self._tables.looks.pop((look.key, look.planner), None)
        elif look.key in self._tables.endpoints:
            self._tables.looks[look.key, look.planner] = look.at
