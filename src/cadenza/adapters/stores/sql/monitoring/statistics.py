"""Statistics of endpoints, runs and analyses, each read within bounds."""

import json
from collections.abc import Collection
from datetime import datetime, timedelta

from cadenza.adapters.stores.sql.database import Database, Dialect
from cadenza.adapters.stores.sql.large_results import read_rows
from cadenza.adapters.stores.sql.planning.analyses import COLUMNS, WITHOUT_RESPONSE, read_analysis
from cadenza.adapters.stores.sql.rows import ENDPOINT_COLUMNS, STATUSES, Read, Row, read_run
from cadenza.adapters.stores.sql.scheduling.catalog import FAILING
from cadenza.adapters.stores.sql.scheduling.definition import read_definition
from cadenza.adapters.stores.sql.scheduling.endpoints import read_endpoints
from cadenza.adapters.stores.sql.scheduling.functions import REQUIREMENTS_PRESENT
from cadenza.adapters.stores.sql.scheduling.run_search import ENDED, midnight, read_ended
from cadenza.domain.monitoring.forecast import UpcomingRun
from cadenza.domain.monitoring.uptime import EndedGroup
from cadenza.domain.planning.analysis import Analysis, Tokens
from cadenza.domain.planning.health import EndedRun
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.hint import IntervalHint
from cadenza.domain.scheduling.run import Run
from cadenza.ports.monitoring import ActivityGrouping, AnalysisCursor, PlannerActivity

KEYS = "unnest($1::text[], $2::text[]) AS k (tenant_id, id)"
ENDPOINTS_BY_KEY = f"""
SELECT {", ".join(ENDPOINT_COLUMNS)} FROM {KEYS} CROSS JOIN endpoint_states s CROSS JOIN endpoints e
WHERE s.tenant_id = k.tenant_id AND s.endpoint_id = k.id AND NOT s.archived
    AND e.tenant_id = s.tenant_id AND e.id = s.endpoint_id
"""
_OF_REQUIREMENT = """FROM endpoint_states WHERE requirement = p.requirement AND tenant_id = $1
        AND claimable_at IS NOT NULL AND claimable_at < $2 ORDER BY claimable_at LIMIT $3"""
# The index of due rows has one part for each requirement, of which there are few. SQLite has no LATERAL.
UPCOMING_RUNS = {
    dialect: f"""
{REQUIREMENTS_PRESENT}
SELECT s.next_run_at, e.definition, s.interval_hint_ms, s.interval_hint_expires_at
FROM (SELECT s.* FROM present p CROSS JOIN {soonest} ORDER BY s.claimable_at LIMIT $3) AS s
CROSS JOIN {definition}
ORDER BY s.claimable_at
"""
    for dialect, soonest, definition in (
        (
            Dialect.POSTGRES,
            f"LATERAL (SELECT * {_OF_REQUIREMENT}) AS s",
            """LATERAL (SELECT e.* FROM endpoints e
    WHERE e.tenant_id = s.tenant_id AND e.id = s.endpoint_id OFFSET 0) AS e""",
        ),
        (
            Dialect.SQLITE,
            f"endpoint_states s ON s.rowid IN (SELECT rowid {_OF_REQUIREMENT})",
            "endpoints e ON e.tenant_id = s.tenant_id AND e.id = s.endpoint_id",
        ),
    )
}
# By the leases, which are few; the endpoints of a tenant may be many.
IN_FLIGHT = """
SELECT count(*) FROM (
    SELECT 1 FROM endpoint_states WHERE lease_token IS NOT NULL AND tenant_id || '' = $1 LIMIT $2
) AS claimed
"""
# Whole days leave out PostgreSQL's other partitions, and do not keep the index from telling the order.
# SQLite has no partitions: it would read all that is older to find that there is no more.
LATEST_RUNS = {
    dialect: f"""
SELECT * FROM (
    SELECT {", ".join(ENDED)} FROM runs WHERE tenant_id = $1 {since_midnight} ORDER BY id DESC LIMIT $3
) AS newest WHERE finished_at >= $4
"""
    for dialect, since_midnight in ((Dialect.POSTGRES, "AND finished_at >= $2"), (Dialect.SQLITE, ""))
}
_NEWEST_OF = "FROM runs WHERE tenant_id = k.tenant_id AND endpoint_id = k.id ORDER BY id DESC LIMIT $3"
# SQLite has no LATERAL. PostgreSQL has no row numbers, and would look in every partition for each id.
LATEST_RUNS_OF = {
    dialect: f"""
SELECT k.tenant_id, k.id, {", ".join(f"r.{column}" for column in ENDED)} FROM {KEYS}
CROSS JOIN {newest} ORDER BY k.tenant_id, k.id, r.id DESC
"""
    for dialect, newest in (
        (Dialect.POSTGRES, f"LATERAL (SELECT id, {', '.join(ENDED)} {_NEWEST_OF}) AS r"),
        (Dialect.SQLITE, f"runs r ON r.rowid IN (SELECT rowid {_NEWEST_OF})"),
    )
}
RUNS_BETWEEN = f"""
SELECT {", ".join(WITHOUT_RESPONSE)} FROM runs WHERE tenant_id = $1 AND endpoint_id = $2
    AND finished_at >= $3 AND finished_at < $4 ORDER BY id DESC LIMIT $5
"""
FAILING_ENDPOINTS = f"""
SELECT count(*) FROM (
    SELECT 1 FROM endpoint_states s WHERE s.tenant_id = $1 AND {FAILING} LIMIT $2
) AS failing
"""
# Grouped by the database, since there may be tens of thousands of runs. Whole days, as in LATEST_RUNS.
ENDED_BY_BUCKET = {
    dialect: f"""
SELECT {bucket}, status, {durations} FROM (
    SELECT finished_at, status, duration_ms FROM runs
    WHERE tenant_id = $1 AND endpoint_id = $2 AND verdict {since_midnight} ORDER BY id DESC LIMIT $4
) AS newest WHERE finished_at >= $5 GROUP BY 1, 2
"""
    for dialect, bucket, durations, since_midnight in (
        (
            Dialect.POSTGRES,
            "div(extract(epoch FROM finished_at - $5::timestamptz) * 1000000, $6::bigint)::int",
            "array_agg(duration_ms)",
            "AND finished_at >= $3",
        ),
        (Dialect.SQLITE, "(finished_at - $5) / $6", "json_group_array(duration_ms)", ""),
    )
}
_GROUPS = {
    ActivityGrouping.ALL: "''",
    ActivityGrouping.DAY: "to_char(began_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')",
    ActivityGrouping.ENDPOINT: 'endpoint_id COLLATE "C"',
}
PLANNER_ACTIVITY = {
    grouping: f"""
SELECT {group}, planner, count(*), count(error), count(*) FILTER (WHERE shadow), sum(input_tokens),
    sum(output_tokens), max(began_at)
FROM (
    SELECT planner, began_at, input_tokens, output_tokens, shadow, error, endpoint_id FROM analyses
    WHERE tenant_id = $1 AND began_at >= $2 ORDER BY began_at DESC LIMIT $3
) AS newest
GROUP BY 1, 2 ORDER BY sum(input_tokens) + sum(output_tokens) DESC, count(*) DESC, 1, 2 LIMIT $4
"""
    for grouping, group in _GROUPS.items()
}
RECENT_ANALYSES = f"""
SELECT {COLUMNS} FROM analyses WHERE tenant_id = $1 AND (began_at, id) < ($2, $3)
ORDER BY began_at DESC, id DESC LIMIT $4
"""


class SqlStatistics:
    """What is due next, what is running, and how newest runs and analyses ended."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def endpoints_by_key(self, keys: Collection[EndpointKey]) -> list[Endpoint]:
        rows = await self._database.read(ENDPOINTS_BY_KEY, *_columns(keys))
        endpoints = await read_endpoints(rows, self._database.read_moment)
        return sorted(endpoints, key=lambda endpoint: endpoint.key)

    async def upcoming_runs(self, tenant_id: str, *, until: datetime, limit: int) -> list[UpcomingRun]:
        rows = await self._database.read(UPCOMING_RUNS[self._database.dialect], tenant_id, until, limit)
        return await read_rows(rows, lambda row: _read_upcoming(row, self._database.read_moment), text=1)

    async def in_flight(self, tenant_id: str, most: int) -> int:
        return int((await self._database.read(IN_FLIGHT, tenant_id, most))[0][0])

    async def latest_runs(self, tenant_id: str, *, since: datetime, limit: int) -> list[EndedRun]:
        statement = LATEST_RUNS[self._database.dialect]
        rows = await self._database.read(statement, tenant_id, midnight(since), limit, since)
        return read_ended(rows, self._database.read_moment)

    async def latest_runs_of(
        self, keys: Collection[EndpointKey], *, each: int
    ) -> dict[EndpointKey, list[EndedRun]]:
        found: dict[EndpointKey, list[Row]] = {}
        for row in await self._database.read(LATEST_RUNS_OF[self._database.dialect], *_columns(keys), each):
            found.setdefault(EndpointKey(row[0], row[1]), []).append(tuple(row)[2:])
        return {key: read_ended(rows, self._database.read_moment) for key, rows in found.items()}

    async def runs_between(
        self, key: EndpointKey, *, since: datetime, until: datetime, limit: int
    ) -> list[Run]:
        rows = await self._database.read(RUNS_BETWEEN, *key, since, until, limit)
        return [read_run((*row, None), self._database.read_moment) for row in rows]

    async def ended_by_bucket(
        self, key: EndpointKey, *, since: datetime, span: timedelta, limit: int
    ) -> list[EndedGroup]:
        statement, micros = ENDED_BY_BUCKET[self._database.dialect], span // timedelta(microseconds=1)
        rows = await self._database.read(statement, *key, midnight(since), limit, since, micros)
        return [EndedGroup(bucket, STATUSES[status], _numbers(took)) for bucket, status, took in rows]

    async def failing(self, tenant_id: str, most: int) -> int:
        return int((await self._database.read(FAILING_ENDPOINTS, tenant_id, most))[0][0])

    async def planner_activity(
        self, tenant_id: str, *, grouping: ActivityGrouping, since: datetime, limit: int, most: int
    ) -> list[PlannerActivity]:
        rows = await self._database.read(PLANNER_ACTIVITY[grouping], tenant_id, since, limit, most)
        return [_read_activity(row, self._database.read_moment) for row in rows]

    async def recent_analyses(self, tenant_id: str, *, before: AnalysisCursor, limit: int) -> list[Analysis]:
        rows = await self._database.read(RECENT_ANALYSES, tenant_id, *before, limit)
        return [read_analysis(row, self._database.read_moment) for row in rows]


def _columns(keys: Collection[EndpointKey]) -> tuple[list[str], list[str]]:
    """Keys as statements about many take them, without duplicates."""
    once = dict.fromkeys(keys)
    return [key.tenant_id for key in once], [key.id for key in once]


def _numbers(column: str | list[int]) -> list[int]:
    """A list of numbers as a database gives it: SQLite has no lists, and writes JSON."""
    return json.loads(column) if isinstance(column, str) else column


def _read_upcoming(row: Row, read: Read) -> UpcomingRun:
    at, definition, interval_ms, expires_at = row
    hint = None if interval_ms is None else IntervalHint(interval_ms, read(expires_at))
    defined = read_definition(definition)
    return UpcomingRun(read(at), defined["baseline"], hint, defined["calendar_rules"])


def _read_activity(row: Row, read: Read) -> PlannerActivity:
    of, planner, count, failed, shadow, input_tokens, output_tokens, last_at = row
    tokens = Tokens(int(input_tokens), int(output_tokens))
    return PlannerActivity(of, planner, count, failed, shadow, tokens, read(last_at))
