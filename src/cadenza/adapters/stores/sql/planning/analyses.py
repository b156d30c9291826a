"""Analyses, when planners want to analyse an endpoint again, and their notes."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import orjson

from cadenza.adapters.stores.sql.database import BATCH, Connection, Database, delete_in_batches
from cadenza.adapters.stores.sql.rows import LISTED_RUN_COLUMNS, Read, Row, document, storable
from cadenza.domain.json_values import Json
from cadenza.domain.planning.analysis import Analysis, Tokens, ToolCall, Trigger
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Run
from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.planning import DailyAnalysisUsage, EndedRuns, NextAnalysis

AFTER_ALL = "\U0010ffff"
"""Sorts behind every id."""
ANALYSIS = (
    "tenant_id",
    "endpoint_id",
    "id",
    "job_id",
    "planner",
    "trigger",
    "began_at",
    "duration_ms",
    "reasoning",
    "calls",
    "input_tokens",
    "output_tokens",
    "look_again_at",
    "shadow",
    "error",
)
COLUMNS = ", ".join(f'"{column}"' for column in ANALYSIS)
WITHOUT_RESPONSE = LISTED_RUN_COLUMNS[:-1]
"""The columns of ended runs that planners read: a response may be large, and few planners need it."""
LOCK_ENDPOINTS = """
SELECT e.tenant_id, e.id FROM unnest($1::text[], $2::text[]) AS k (tenant_id, id) CROSS JOIN endpoints e
WHERE e.tenant_id = k.tenant_id AND e.id = k.id ORDER BY e.tenant_id, e.id FOR KEY SHARE OF e
"""
"""Those that exist, and go on to exist until the commit."""
KEYS = "unnest($1::text[], $2::text[]) AS k (tenant_id, id)"

ADD = (
    f"INSERT INTO analyses ({COLUMNS}) VALUES ({', '.join(f'${n}' for n in range(1, len(ANALYSIS) + 1))})"
    " ON CONFLICT (tenant_id, endpoint_id, id) DO NOTHING"
)
LIST = f"""
SELECT {COLUMNS} FROM analyses WHERE tenant_id = $1 AND endpoint_id = $2 AND id < $3 ORDER BY id DESC LIMIT $4
"""
USAGE_BY_DAY = """
SELECT to_char(began_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, planner, count(*),
    sum(input_tokens)::bigint, sum(output_tokens)::bigint
FROM analyses WHERE tenant_id = $1 AND endpoint_id = $2 AND began_at >= $3
GROUP BY day, planner ORDER BY day DESC, planner COLLATE "C"
"""
REMOVE_OLD = """
DELETE FROM analyses WHERE (tenant_id, endpoint_id, id) IN (
    SELECT tenant_id, endpoint_id, id FROM analyses WHERE began_at < $1 ORDER BY began_at LIMIT $2
) RETURNING id
"""
PUT_NEXT = """
INSERT INTO looks (tenant_id, endpoint_id, planner, at) VALUES ($1, $2, $3, $4)
ON CONFLICT (tenant_id, endpoint_id, planner) DO UPDATE SET at = excluded.at
"""
REMOVE_NEXT = "DELETE FROM looks WHERE tenant_id = $1 AND endpoint_id = $2 AND planner = $3"
DUE = "SELECT tenant_id, endpoint_id, planner, at FROM looks WHERE at <= $1 ORDER BY at LIMIT $2"
LOCK_DUE = f"{DUE} FOR UPDATE SKIP LOCKED"
SAVE_NOTES = """
INSERT INTO notes (planner, tenant_id, endpoint_id, note, taken_at)
SELECT $1, n.tenant_id, n.endpoint_id, n.note, $2
FROM unnest($3::text[], $4::text[], $5::json[]) AS n (tenant_id, endpoint_id, note) WHERE true
ON CONFLICT (planner, tenant_id, endpoint_id) DO UPDATE SET note = excluded.note, taken_at = excluded.taken_at
"""
# CROSS JOIN, which tells SQLite to begin with the keys and not with all notes of the planner.
NOTES = f"""
SELECT n.tenant_id, n.endpoint_id, n.note FROM {KEYS} CROSS JOIN notes n
WHERE n.planner = $3 AND n.tenant_id = k.tenant_id AND n.endpoint_id = k.id
"""


class SqlAnalyses(ABC):
    """What planners read and write. How they read runs depends on the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @abstractmethod
    async def ended_since(self, cursor: str | None, limit: int) -> EndedRuns:
        """Runs that were added since a cursor: PostgreSQL tells by transactions, SQLite by rows."""

    @abstractmethod
    async def with_siblings(self, keys: Collection[EndpointKey], most: int) -> list[Endpoint]:
        """On PostgreSQL one statement for all jobs, on SQLite, which has no LATERAL, one for each."""

    @abstractmethod
    async def recent_runs(
        self, keys: Collection[EndpointKey], *, each: int, most_bytes: int
    ) -> dict[EndpointKey, list[Run]]:
        """On PostgreSQL one statement for all keys, on SQLite, which has no LATERAL, one for each."""

    async def add_analyses(
        self, analyses: Sequence[Analysis], next_analyses: Sequence[NextAnalysis] = ()
    ) -> None:
        own = [
            NextAnalysis(EndpointKey(one.tenant_id, one.endpoint_id), one.planner, one.look_again_at)
            for one in analyses
        ]
        last = {(one.key, one.planner): one.at for one in (*own, *next_analyses)}
        unwanted = [(*key, planner) for (key, planner), at in last.items() if at is None]

        async def work(connection: Connection) -> None:
            keys = sorted({one.key for one in (*own, *next_analyses)})
            rows = await connection.fetch(LOCK_ENDPOINTS, *columns_of_keys(keys))
            there = {EndpointKey(*row) for row in rows}
            written = [one for one in analyses if EndpointKey(one.tenant_id, one.endpoint_id) in there]
            wanted = [(*k, planner, at) for (k, planner), at in last.items() if at is not None and k in there]
            await connection.executemany(ADD, [_write_analysis(one) for one in written])
            await connection.executemany(REMOVE_NEXT, unwanted)
            await connection.executemany(PUT_NEXT, wanted)

        await self._database.write(work)

    async def analyses(self, key: EndpointKey, page: Page = FIRST_PAGE) -> list[Analysis]:
        rows = await self._database.read(LIST, *key, page.after or AFTER_ALL, page.limit)
        return [read_analysis(row, self._database.read_moment) for row in rows]

    async def usage_by_day(self, key: EndpointKey, since: datetime) -> list[DailyAnalysisUsage]:
        rows = await self._database.read(USAGE_BY_DAY, *key, since)
        return [
            DailyAnalysisUsage(date.fromisoformat(row[0]), row[1], row[2], Tokens(row[3], row[4]))
            for row in rows
        ]

    async def due_analyses(self, now: datetime, *, again_at: datetime, limit: int) -> list[NextAnalysis]:
        if not await self._database.read(DUE, now, limit):  # As nearly always: no transaction is begun.
            return []

        async def work(connection: Connection) -> Sequence[Row]:
            rows = await connection.fetch(LOCK_DUE, now, limit)
            await connection.executemany(PUT_NEXT, [(row[0], row[1], row[2], again_at) for row in rows])
            return rows

        read = self._database.read_moment
        rows = await self._database.write(work)
        due = [NextAnalysis(EndpointKey(row[0], row[1]), row[2], read(row[3])) for row in rows]
        return sorted(due, key=lambda one: (one.at, one.key, one.planner))

    async def save_notes(self, planner: str, notes: Mapping[EndpointKey, Json], now: datetime) -> None:
        written = [document(note) for note in notes.values()]
        await self._database.ask(SAVE_NOTES, planner, now, *columns_of_keys(notes), written)

    async def notes(self, planner: str, keys: Collection[EndpointKey]) -> dict[EndpointKey, Json]:
        rows = await self._database.read(NOTES, *columns_of_keys(keys), planner)
        return {EndpointKey(row[0], row[1]): orjson.loads(row[2]) for row in rows}

    async def forget_analyses(self, before: datetime) -> int:
        return await delete_in_batches(self._database, REMOVE_OLD, before, BATCH)


def columns_of_keys(keys: Collection[EndpointKey]) -> tuple[list[Any], list[Any]]:
    """Keys as `KEYS` takes them."""
    return [key.tenant_id for key in keys], [key.id for key in keys]


def _write_analysis(analysis: Analysis) -> tuple[Any, ...]:
    """The columns `ANALYSIS`."""
    return (
        analysis.tenant_id,
        analysis.endpoint_id,
        analysis.id,
        analysis.job_id,
        analysis.planner,
        analysis.trigger.value,
        analysis.began_at,
        analysis.duration_ms,
        storable(analysis.reasoning),
        document([_call_document(call) for call in analysis.calls]) if analysis.calls else None,
        *analysis.tokens,
        analysis.look_again_at,
        analysis.shadow,
        storable(analysis.error),
    )


def read_analysis(row: Row, read: Read) -> Analysis:
    """The analysis of a row selected as `ANALYSIS`."""
    tenant_id, endpoint_id, id_, job_id, planner, trigger, began_at, duration_ms = row[:8]
    reasoning, calls, input_tokens, output_tokens, look_again_at, shadow, error = row[8:]
    return Analysis(
        id=id_,
        tenant_id=tenant_id,
        job_id=job_id,
        endpoint_id=endpoint_id,
        planner=planner,
        trigger=Trigger(trigger),
        began_at=read(began_at),
        duration_ms=duration_ms,
        reasoning=reasoning,
        calls=() if calls is None else tuple(ToolCall(**call) for call in orjson.loads(calls)),
        tokens=Tokens(input_tokens, output_tokens),
        look_again_at=read(look_again_at),
        shadow=bool(shadow),
        error=error,
    )


def _call_document(call: ToolCall) -> dict[str, Any]:
    """A call as JSON; arguments that JSON cannot say are written as text."""
    words = call._asdict() | {name: storable(getattr(call, name)) for name in ("tool", "result", "error")}
    try:
        orjson.dumps(call.arguments)
    except TypeError:
        words["arguments"] = {"text": storable(str(call.arguments))}
    return words
