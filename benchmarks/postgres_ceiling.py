"""The least that PostgreSQL must do for a cycle, in batches, by a plain driver and without a scheduler.

The commits are the same: a lease is committed before the run, the run and the next moment after it. The
table is narrow, a run has few columns, and nothing is read that is not needed.
"""

from datetime import datetime, timedelta

import asyncpg

from cadenza.adapters.ids import TimeOrderedIds

TABLES = """
    CREATE TABLE plain (id text COLLATE "C" PRIMARY KEY, next_at timestamptz, token text)
        WITH (fillfactor = 70);
    CREATE INDEX ON plain (next_at) WHERE next_at IS NOT NULL;
    CREATE TABLE plain_runs (id text, endpoint text, slot timestamptz, finished timestamptz, status text);
    CREATE INDEX ON plain_runs (endpoint, id)
"""
FILL = """
    INSERT INTO plain SELECT 'endpoint-' || (10000000 + n), $2::timestamptz + n * $3::interval, NULL
    FROM generate_series(1, $1) AS n
"""
CLAIM = """
    WITH due AS MATERIALIZED (
        SELECT id FROM plain WHERE next_at <= $1 ORDER BY next_at LIMIT $2 FOR UPDATE SKIP LOCKED
    )
    UPDATE plain p SET next_at = NULL, token = $3 FROM due WHERE p.id = due.id RETURNING p.id
"""
SETTLE = """
    WITH done AS (
        UPDATE plain p SET next_at = g.next_at, token = NULL
        FROM unnest($1::text[], $2::timestamptz[], $3::text[]) AS g (id, next_at, run_id)
        WHERE p.id = g.id AND p.token = $4 RETURNING g.run_id, g.id
    )
    INSERT INTO plain_runs SELECT run_id, id, $5, $5, 'success' FROM done
"""


class PostgresCeiling:
    """Claims and settles by the smallest statements, on one connection."""

    def __init__(self, connection: "asyncpg.Connection[asyncpg.Record]", batch: int) -> None:
        self._connection = connection
        self._batch = batch
        self._ids = TimeOrderedIds()
        self._token = ""
        self._claimed: list[str] = []

    async def fill(self, count: int, due_at: datetime, apart: timedelta = timedelta(0)) -> None:
        """Create the tables, and add so many rows."""
        await self._connection.execute(TABLES)
        await self._connection.execute(FILL, count, due_at, apart)
        await self._connection.execute("ANALYZE plain")

    async def claim(self, now: datetime) -> list[str]:
        """Lease a batch of what is due; its ids."""
        self._token = self._ids.new()
        rows = await self._connection.fetch(CLAIM, now, self._batch, self._token)
        self._claimed = [row[0] for row in rows]
        return self._claimed

    async def settle(self, now: datetime, moments: list[datetime]) -> None:
        """Record the runs and the next moments."""
        run_ids = [self._ids.new() for _ in self._claimed]
        await self._connection.execute(SETTLE, self._claimed, moments, run_ids, self._token, now)
