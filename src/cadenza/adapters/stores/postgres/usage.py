"""Charging runs to their tenants, as the last thing that a transaction does."""

from collections.abc import Iterable

from cadenza.adapters.stores.postgres.pool import Connection
from cadenza.adapters.stores.sql.given_rows import columns_of
from cadenza.domain.access.tenant import charges
from cadenza.domain.scheduling.settle import SettledRun

SHARD = "pg_backend_pid() % 16"
"""Where to count: sessions that count for one tenant at the same time would queue for one row."""
COUNTED = f"""
INSERT INTO usage AS u (tenant_id, month, shard, runs, planner_tokens)
SELECT tenant_id, month, {SHARD}, runs, 0
FROM unnest($1::text[], $2::text[], $3::bigint[]) AS counted (tenant_id, month, runs)
ON CONFLICT (tenant_id, month, shard) DO UPDATE SET runs = u.runs + excluded.runs
"""
"""Parameters: by tenant and month, how many runs are charged."""


async def count_runs(connection: Connection, settled: Iterable[SettledRun]) -> None:
    """Add the runs of a batch to what their tenants have spent, in the order of the tenants.

    Whoever counts waits for who counts in the same rows, so this comes last: what
    is counted is committed next.
    """
    counted = charges(settled)
    if counted:
        await connection.execute(COUNTED, *columns_of(counted))
