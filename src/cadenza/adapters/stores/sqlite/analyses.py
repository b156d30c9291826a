"""The feed, sittings, looks and notes in a SQLite file."""

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from functools import partial

import orjson

from cadenza.adapters.stores.sql.analysis_rows import read_analysis, write_analysis
from cadenza.adapters.stores.sql.rows import document, from_micros, read_endpoint, read_run, to_micros
from cadenza.adapters.stores.sqlite import analysis_statements as sql
from cadenza.adapters.stores.sqlite import cycle_statements as statements
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.settle import in_micros
from cadenza.domain.planning.analysis import Analysis, Tokens
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Run
from cadenza.domain.scheduling.target import Json
from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.planning import DailyAnalysisUsage, EndedRuns, NextAnalysis

AFTER_ALL = "\U0010ffff"
"""Sorts behind every id."""
AT_ONCE = 2_000
"""So many sittings are forgotten in one commit, so that nobody waits long."""


class SqliteAnalyses:
    """What planners live on."""

    _file: SqliteFile

    async def ended_since(self, cursor: str | None, limit: int) -> EndedRuns:
        return await self._file.read(partial(_ended_since, cursor=cursor, limit=limit))

    async def with_siblings(self, keys: Collection[EndpointKey], most: int) -> list[Endpoint]:
        return await self._file.read(partial(_neighbours, keys=keys, most=most))

    async def recent_runs(
        self, keys: Collection[EndpointKey], *, each: int, most_bytes: int
    ) -> dict[EndpointKey, list[Run]]:
        def work(file: sqlite3.Connection) -> dict[EndpointKey, list[Run]]:
            found = {key: _recent(file, key, each=each, most_bytes=most_bytes) for key in keys}
            return {key: runs for key, runs in found.items() if runs}

        return await self._file.read(work)

    async def add_analyses(
        self, analyses: Sequence[Analysis], next_analyses: Sequence[NextAnalysis] = ()
    ) -> None:
        rows = [in_micros(write_analysis(one)) for one in analyses]
        own = [
            NextAnalysis(EndpointKey(one.tenant_id, one.endpoint_id), one.planner, one.look_again_at)
            for one in analyses
        ]

        def work(file: sqlite3.Connection) -> None:
            file.executemany(sql.ADD, rows)
            for key, planner, at in (*own, *next_analyses):
                if at is None:
                    file.execute(sql.UNWANT, (*key, planner))
                else:
                    file.execute(sql.WANT, (*key, planner, to_micros(at)))

        await self._file.write(work)

    async def analyses(self, key: EndpointKey, page: Page = FIRST_PAGE) -> list[Analysis]:
        wanted = (*key, page.after or AFTER_ALL, page.limit)
        rows = await self._file.read(lambda file: file.execute(sql.ANALYSES, wanted).fetchall())
        return [read_analysis(row, from_micros) for row in rows]

    async def usage_by_day(self, key: EndpointKey, since: datetime) -> list[DailyAnalysisUsage]:
        wanted = (*key, to_micros(since))
        rows = await self._file.read(lambda file: file.execute(sql.BY_DAY, wanted).fetchall())
        return [
            DailyAnalysisUsage(date.fromisoformat(row[0]), row[1], row[2], Tokens(*row[3:])) for row in rows
        ]

    async def due_analyses(self, now: datetime, *, again_at: datetime, limit: int) -> list[NextAnalysis]:
        due = (to_micros(now), limit)
        if not await self._file.read(lambda file: file.execute(sql.DUE, due).fetchall()):
            return []

        def work(file: sqlite3.Connection) -> list[NextAnalysis]:
            rows = file.execute(sql.DUE, due).fetchall()
            file.executemany(sql.WANT, [(*row[:3], to_micros(again_at)) for row in rows])
            return [NextAnalysis(EndpointKey(*row[:2]), row[2], from_micros(row[3])) for row in rows]

        return await self._file.write(work)

    async def save_notes(self, planner: str, notes: Mapping[EndpointKey, Json], now: datetime) -> None:
        rows = [(planner, *key, document(note), to_micros(now)) for key, note in notes.items()]
        await self._file.write(lambda file: file.executemany(sql.NOTE, rows))

    async def notes(self, planner: str, keys: Collection[EndpointKey]) -> dict[EndpointKey, Json]:
        def work(file: sqlite3.Connection) -> dict[EndpointKey, Json]:
            found = {key: file.execute(sql.NOTES, (planner, *key)).fetchone() for key in keys}
            return {key: orjson.loads(row[0]) for key, row in found.items() if row is not None}

        return await self._file.read(work)

    async def forget_analyses(self, before: datetime) -> int:
        old, gone = (to_micros(before), AT_ONCE), 0
        while forgotten := await self._file.write(lambda file: file.execute(sql.FORGET, old).rowcount):
            gone += forgotten
        return gone


def _ended_since(file: sqlite3.Connection, cursor: str | None, limit: int) -> EndedRuns:
    """Rows are added by one writer, so their numbers grow; one beyond the last is of another file."""
    (last,) = file.execute(sql.LAST).fetchone()
    place = int(cursor) if cursor is not None and cursor.isdecimal() else last
    if place >= last:
        return EndedRuns([], str(last))
    rows = file.execute(sql.ENDED, (place, limit)).fetchall()
    return EndedRuns(
        [read_run((*row[1:], None), from_micros) for row in rows], str(rows[-1][0] if rows else last)
    )


def _neighbours(file: sqlite3.Connection, keys: Collection[EndpointKey], most: int) -> list[Endpoint]:
    rows = [file.execute(statements.GET, key).fetchone() for key in dict.fromkeys(keys)]
    meant = [read_endpoint(row, from_micros) for row in rows if row is not None]
    found = {one.key: one for one in meant if not one.archived}
    for tenant_id, job_id in {(one.tenant_id, one.job_id): None for one in found.values()}:
        for row in file.execute(sql.OF_JOB, (tenant_id, job_id, most + 1)):
            one = read_endpoint(row, from_micros)
            found[one.key] = one
    return list(found.values())


def _recent(file: sqlite3.Connection, key: EndpointKey, *, each: int, most_bytes: int) -> list[Run]:
    found: list[Run] = []
    taken = 0
    for row in file.execute(sql.RECENT, (*key, each)):
        taken += len(row[-1] or "")
        if found and taken > most_bytes:
            break
        found.append(read_run(row, from_micros))
    return found
