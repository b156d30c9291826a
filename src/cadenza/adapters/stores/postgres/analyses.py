"""The feed, sittings, looks and notes in PostgreSQL."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson

from cadenza.adapters.stores.postgres import analysis_statements as sql
from cadenza.adapters.stores.postgres.arrays import as_it_is
from cadenza.adapters.stores.postgres.feed import ended_since
from cadenza.adapters.stores.postgres.pool import Connection, PostgresPool
from cadenza.adapters.stores.sql.analysis_rows import read_analysis, write_analysis
from cadenza.adapters.stores.sql.rows import document, read_endpoint, read_run
from cadenza.domain.planning.analysis import Analysis, Tokens
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Run
from cadenza.domain.scheduling.target import Json
from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.planning import DailyAnalysisUsage, EndedRuns, NextAnalysis

AFTER_ALL = "\U0010ffff"
"""Sorts behind every id."""


class PostgresAnalyses:
    """What planners live on."""

    _pool: PostgresPool

    async def ended_since(self, cursor: str | None, limit: int) -> EndedRuns:
        return await ended_since(self._pool, cursor, limit)

    async def with_siblings(self, keys: Collection[EndpointKey], most: int) -> list[Endpoint]:
        meant = await self._pool.ask(sql.THEMSELVES, *_columns(keys))
        found = {EndpointKey(row[0], row[1]): row for row in meant}
        of_jobs = await self._pool.ask(sql.OF_JOBS, *_columns(found), most + 1)
        found |= {EndpointKey(row[0], row[1]): row for row in of_jobs}
        return [read_endpoint(row, as_it_is) for row in found.values()]

    async def recent_runs(
        self, keys: Collection[EndpointKey], *, each: int, most_bytes: int
    ) -> dict[EndpointKey, list[Run]]:
        found: dict[EndpointKey, list[Run]] = defaultdict(list)
        for row in await self._pool.ask(sql.RECENT, *_columns(keys), each, most_bytes):
            run = read_run(row, as_it_is)
            found[EndpointKey(run.tenant_id, run.endpoint_id)].append(run)
        return dict(found)

    async def add_analyses(
        self, analyses: Sequence[Analysis], next_analyses: Sequence[NextAnalysis] = ()
    ) -> None:
        rows = [write_analysis(one) for one in analyses]
        own = [
            NextAnalysis(EndpointKey(one.tenant_id, one.endpoint_id), one.planner, one.look_again_at)
            for one in analyses
        ]
        last = {(look.key, look.planner): look.at for look in (*own, *next_analyses)}
        wanted = [(*key, planner, at) for (key, planner), at in last.items() if at is not None]
        unwanted = [(*key, planner) for (key, planner), at in last.items() if at is None]

        async def work(connection: Connection) -> None:
            await connection.executemany(sql.ADD, rows)
            await connection.executemany(sql.UNWANT, unwanted)
            await connection.executemany(sql.WANT, wanted)

        await self._pool.write(work)

    async def analyses(self, key: EndpointKey, page: Page = FIRST_PAGE) -> list[Analysis]:
        rows = await self._pool.ask(sql.ANALYSES, *key, page.after or AFTER_ALL, page.limit)
        return [read_analysis(row, as_it_is) for row in rows]

    async def usage_by_day(self, key: EndpointKey, since: datetime) -> list[DailyAnalysisUsage]:
        rows = await self._pool.ask(sql.BY_DAY, *key, since)
        return [DailyAnalysisUsage(row[0], row[1], row[2], Tokens(row[3], row[4])) for row in rows]

    async def due_analyses(self, now: datetime, *, again_at: datetime, limit: int) -> list[NextAnalysis]:
        rows = await self._pool.ask(sql.DUE, now, again_at, limit)
        next_analyses = [NextAnalysis(EndpointKey(row[0], row[1]), row[2], row[3]) for row in rows]
        return sorted(next_analyses, key=lambda look: (look.at, look.key, look.planner))

    async def save_notes(self, planner: str, notes: Mapping[EndpointKey, Json], now: datetime) -> None:
        written = [document(note) for note in notes.values()]
        await self._pool.ask(sql.NOTE, planner, now, *_columns(notes), written)

    async def notes(self, planner: str, keys: Collection[EndpointKey]) -> dict[EndpointKey, Json]:
        rows = await self._pool.ask(sql.NOTES, *_columns(keys), planner)
        return {EndpointKey(row[0], row[1]): orjson.loads(row[2]) for row in rows}

    async def forget_analyses(self, before: datetime) -> int:
        rows = await self._pool.ask(sql.FORGET, before)
        return int(rows[0][0])


def _columns(keys: Collection[EndpointKey]) -> tuple[list[Any], list[Any]]:
    """Keys as `KEYS` takes them."""
    return [key.tenant_id for key in keys], [key.id for key in keys]
