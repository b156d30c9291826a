"""Charging runs to their tenants, as the last thing that a transaction does."""

from collections.abc import Iterable
from zlib import crc32

from cadenza.adapters.sql.postgres.arrays import arrays
from cadenza.adapters.sql.postgres.cycle_statements import COUNTED
from cadenza.adapters.sql.postgres.pool import Connection
from cadenza.domain.settle import Settled
from cadenza.domain.usage import charges
from cadenza.ports.ids import Ids

SHARDS = 16


def a_shard(ids: Ids) -> int:
    """Where a store counts: workers of one tenant would otherwise queue for one row."""
    return crc32(ids.new().encode()) % SHARDS


async def count_runs(connection: Connection, settled: Iterable[Settled], shard: int) -> None:
    """Add the runs of a batch to what their tenants have spent, in the order of the tenants.

    Whoever counts waits for who counts in the same rows, so this comes last: what
    is counted is committed next.
    """
    counted = charges(settled)
    if counted:
        await connection.execute(COUNTED, shard, *arrays(counted))
