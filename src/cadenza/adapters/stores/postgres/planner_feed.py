"""What planners read of runs on PostgreSQL: ended runs by the transactions that added them, missing none."""

from collections import defaultdict
from collections.abc import Collection
from typing import NamedTuple, Self

from cadenza.adapters.stores.sql.planning.analyses import (
    KEYS,
    WITHOUT_RESPONSE,
    SqlAnalyses,
    columns_of_keys,
)
from cadenza.adapters.stores.sql.rows import (
    ENDPOINT_COLUMNS,
    LISTED_RUN_COLUMNS,
    SELECT_ENDPOINT,
    read_endpoint,
    read_run,
)
from cadenza.adapters.stores.sql.scheduling.jobs import WITH_STATE
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Run
from cadenza.ports.planning import EndedRuns

ENDED = f"""
SELECT s.*, r.* FROM (
    SELECT pg_snapshot_xmin(now)::text::bigint, pg_snapshot_xmax(now)::text::bigint
    FROM pg_current_snapshot() AS now
) AS s LEFT JOIN LATERAL (
    SELECT {", ".join(WITHOUT_RESPONSE)}, txid FROM runs WHERE txid >= $1 AND (txid, id) > ($1, $2)
    ORDER BY txid, id LIMIT $3
) AS r ON true
"""
"""The first transaction that may be under way, the first that cannot have begun, and runs after a place."""
RECENT = f"""
SELECT {", ".join(f"r.{field}" for field in LISTED_RUN_COLUMNS)} FROM {KEYS} CROSS JOIN LATERAL (
    SELECT *, row_number() OVER newest AS place, sum(octet_length(response::text)) OVER newest AS taken
    FROM (
        SELECT {", ".join(LISTED_RUN_COLUMNS)} FROM runs WHERE tenant_id = k.tenant_id AND endpoint_id = k.id
        ORDER BY id DESC LIMIT $3
    ) AS each WINDOW newest AS (ORDER BY id DESC)
) AS r WHERE r.place = 1 OR coalesce(r.taken, 0) <= $4 ORDER BY r.tenant_id, r.endpoint_id, r.place
"""
ENDPOINTS = f"""
{SELECT_ENDPOINT} JOIN {KEYS} ON s.tenant_id = k.tenant_id AND s.endpoint_id = k.id WHERE NOT s.archived
"""
SIBLINGS = f"""
SELECT o.* FROM (
    SELECT DISTINCT e.tenant_id, e.job_id FROM {KEYS}
    JOIN endpoints e ON e.tenant_id = k.tenant_id AND e.id = k.id
) AS j CROSS JOIN LATERAL (
    SELECT {", ".join(ENDPOINT_COLUMNS)} FROM endpoints e {WITH_STATE}
    WHERE e.tenant_id = j.tenant_id AND e.job_id = j.job_id AND NOT s.archived ORDER BY e.id LIMIT $3
) AS o
"""
MOST_REPEATED = 20_000
"""While a transaction stays under way, so many runs are repeated; then it is waited for no more."""
PARTS = 5


class FeedCursor(NamedTuple):
    """How far a reader has come.

    Transactions end in another order than they begin in. So a reader goes round: from
    the first one that was under way when its last round began, page by page, to the
    newest run. What lies beyond that one is repeated in the next round.
    """

    begin: int
    """Everything before this transaction was read."""
    settled: int = 0
    """When this round began, this was the first transaction under way."""
    txid: int = 0
    run_id: str = ""
    """The last run of this round that was read."""
    repeated: int = 0
    """How many runs of this round were read."""

    def __str__(self) -> str:
        return f"{self.begin}:{self.settled}:{self.txid}:{self.repeated}:{self.run_id}"

    @classmethod
    def read(cls, text: str) -> Self | None:
        """The cursor that a text spells, if it is one."""
        parts = text.split(":", PARTS - 1)
        if len(parts) < PARTS or not all(part.isdecimal() for part in parts[:-1]):
            return None
        begin, settled, txid, repeated = map(int, parts[:-1])
        return cls(begin, settled, txid, parts[-1], repeated)

    def after(self, runs: list[Run], txid: int, *, full: bool) -> "FeedCursor":
        """The cursor after a page of runs, the last of them from this transaction."""
        repeated = self.repeated + len(runs)
        if full:
            return self._replace(txid=txid, run_id=runs[-1].id, repeated=repeated)
        stuck = self.settled <= self.begin and repeated > MOST_REPEATED
        return FeedCursor(txid if stuck else max(self.settled, self.begin))


class PostgresAnalyses(SqlAnalyses):
    """Analyses on PostgreSQL, where a planner reads all its endpoints in one round trip."""

    async def ended_since(self, cursor: str | None, limit: int) -> EndedRuns:
        since = None if cursor is None else FeedCursor.read(cursor)
        rows = await self._database.read(
            ENDED, *((since.txid or since.begin, since.run_id, limit) if since else (0, "", 0))
        )
        settled, to_come = rows[0][:2]
        if since is None or since.begin > to_come:  # A cursor of the future is of another server.
            return EndedRuns([], str(FeedCursor(settled)))
        if not since.repeated:
            since = since._replace(settled=settled)
        found = [row for row in rows if row[-1] is not None]
        runs = [read_run((*row[2:-1], None), self._database.read_moment) for row in found]
        last = found[-1][-1] if found else since.txid
        return EndedRuns(runs, str(since.after(runs, last, full=len(runs) == limit)))

    async def with_siblings(self, keys: Collection[EndpointKey], most: int) -> list[Endpoint]:
        rows = await self._database.read(ENDPOINTS, *columns_of_keys(keys))
        found = {EndpointKey(row[0], row[1]): row for row in rows}
        siblings = await self._database.read(SIBLINGS, *columns_of_keys(found), most + 1)
        found |= {EndpointKey(row[0], row[1]): row for row in siblings}
        return [read_endpoint(row, self._database.read_moment) for row in found.values()]

    async def recent_runs(
        self, keys: Collection[EndpointKey], *, each: int, most_bytes: int
    ) -> dict[EndpointKey, list[Run]]:
        found: dict[EndpointKey, list[Run]] = defaultdict(list)
        for row in await self._database.read(RECENT, *columns_of_keys(keys), each, most_bytes):
            run = read_run(row, self._database.read_moment)
            found[EndpointKey(run.tenant_id, run.endpoint_id)].append(run)
        return dict(found)
