"""Figures from PostgreSQL."""

from collections.abc import Collection
from datetime import datetime

from cadenza.adapters.stores.postgres.analysis_statements import KEYS, THEMSELVES
from cadenza.adapters.stores.postgres.arrays import as_it_is
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.sql.analysis_rows import COLUMNS, WITHOUT_RESPONSE, read_analysis
from cadenza.adapters.stores.sql.rows import Row, read_endpoint, read_run
from cadenza.adapters.stores.sql.scheduling.run_search import ENDED, midnight, read_ended
from cadenza.adapters.stores.sql.statistics import AHEAD, read_activity, read_upcoming, sat_together
from cadenza.domain.monitoring.forecast import UpcomingRun
from cadenza.domain.planning.analysis import Analysis
from cadenza.domain.planning.health import Ended
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Run
from cadenza.ports.monitoring import ActivityGrouping, AnalysisCursor, PlannerActivity


class PostgresFigures:
    """What is ahead, in flight and behind."""

    _pool: PostgresPool

    async def endpoints_by_key(self, keys: Collection[EndpointKey]) -> list[Endpoint]:
        rows = await self._pool.ask(THEMSELVES, *_columns(keys))
        return sorted((read_endpoint(row, as_it_is) for row in rows), key=lambda one: one.key)

    async def upcoming_runs(self, tenant_id: str, *, until: datetime, limit: int) -> list[UpcomingRun]:
        return [
            read_upcoming(row, as_it_is) for row in await self._pool.ask(AHEAD_OF, tenant_id, until, limit)
        ]

    async def in_flight(self, tenant_id: str, most: int) -> int:
        return int((await self._pool.ask(IN_FLIGHT, tenant_id, most))[0][0])

    async def latest_runs(self, tenant_id: str, *, since: datetime, limit: int) -> list[Ended]:
        # Whole days leave out the other partitions, and do not keep the index from telling the order.
        rows = await self._pool.ask(LATEST, tenant_id, midnight(since), limit, since)
        return read_ended(rows, as_it_is)

    async def latest_runs_of(
        self, keys: Collection[EndpointKey], *, each: int
    ) -> dict[EndpointKey, list[Ended]]:
        found: dict[EndpointKey, list[Row]] = {}
        for row in await self._pool.ask(LATEST_OF, *_columns(keys), each):
            found.setdefault(EndpointKey(row[0], row[1]), []).append(tuple(row)[2:])
        return {key: read_ended(rows, as_it_is) for key, rows in found.items()}

    async def runs_between(
        self, key: EndpointKey, *, since: datetime, until: datetime, limit: int
    ) -> list[Run]:
        rows = await self._pool.ask(STRETCH, *key, since, until, limit)
        return [read_run((*row, None), as_it_is) for row in rows]

    async def planner_activity(
        self, tenant_id: str, *, grouping: ActivityGrouping, since: datetime, limit: int, most: int
    ) -> list[PlannerActivity]:
        rows = await self._pool.ask(SAT[grouping], tenant_id, since, limit, most)
        return [read_activity(row, as_it_is) for row in rows]

    async def recent_analyses(self, tenant_id: str, *, before: AnalysisCursor, limit: int) -> list[Analysis]:
        rows = await self._pool.ask(SITTINGS, tenant_id, *before, limit)
        return [read_analysis(row, as_it_is) for row in rows]


def _columns(keys: Collection[EndpointKey]) -> tuple[list[str], list[str]]:
    """Keys as statements about many take them, each once."""
    once = dict.fromkeys(keys)
    return [key.tenant_id for key in once], [key.id for key in once]


AHEAD_OF = (
    f"SELECT {', '.join(AHEAD)} FROM (SELECT * FROM endpoint_states WHERE tenant_id = $1"
    " AND claimable_at IS NOT NULL AND claimable_at < $2 ORDER BY claimable_at LIMIT $3) AS s"
    " CROSS JOIN LATERAL (SELECT definition FROM endpoints e"
    " WHERE e.tenant_id = s.tenant_id AND e.id = s.endpoint_id OFFSET 0) AS e ORDER BY s.claimable_at"
)
IN_FLIGHT = (
    "SELECT count(*) FROM (SELECT FROM endpoint_states"
    " WHERE lease_token IS NOT NULL AND tenant_id = $1 LIMIT $2) AS claimed"
)
LATEST = (
    f"SELECT * FROM (SELECT {', '.join(ENDED)} FROM runs WHERE tenant_id = $1 AND finished_at >= $2"
    " ORDER BY id DESC LIMIT $3) AS newest WHERE finished_at >= $4"
)
LATEST_OF = f"""
SELECT k.tenant_id, k.id, {", ".join(f"r.{column}" for column in ENDED)} FROM {KEYS} CROSS JOIN LATERAL (
    SELECT id, {", ".join(ENDED)} FROM runs WHERE tenant_id = k.tenant_id AND endpoint_id = k.id
    ORDER BY id DESC LIMIT $3
) AS r ORDER BY k.tenant_id, k.id, r.id DESC
"""
STRETCH = (
    f"SELECT {', '.join(WITHOUT_RESPONSE)} FROM runs WHERE tenant_id = $1 AND endpoint_id = $2"
    " AND finished_at >= $3 AND finished_at < $4 ORDER BY id DESC LIMIT $5"
)
_LATELY = "tenant_id = $1 AND began_at >= $2 ORDER BY began_at DESC LIMIT $3"
SAT = {
    ActivityGrouping.ALL: sat_together("''", newest=_LATELY, most="$4"),
    ActivityGrouping.DAY: sat_together(
        "to_char(began_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')", newest=_LATELY, most="$4"
    ),
    ActivityGrouping.ENDPOINT: sat_together('endpoint_id COLLATE "C"', newest=_LATELY, most="$4"),
}
SITTINGS = (
    f"SELECT {COLUMNS} FROM analyses WHERE tenant_id = $1 AND (began_at, id) < ($2, $3)"
    " ORDER BY began_at DESC, id DESC LIMIT $4"
)
