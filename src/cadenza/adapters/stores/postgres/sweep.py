"""Closing the runs of expired leases, in one transaction that waits for no other."""

from collections.abc import Sequence
from datetime import datetime

from cadenza.adapters.stores.postgres import cycle_statements as sql
from cadenza.adapters.stores.postgres.arrays import identity
from cadenza.adapters.stores.postgres.pool import Connection
from cadenza.adapters.stores.postgres.settle import SettledVersion, write_settled
from cadenza.adapters.stores.sql.access.tenants import count_runs
from cadenza.adapters.stores.sql.database import wake_workers
from cadenza.adapters.stores.sql.rows import VERSION, Row, read_endpoint, read_open_run
from cadenza.adapters.stores.sql.scheduling.endpoints import EndpointTables, add_skipped_runs
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.ports.ids import Ids
from cadenza.ports.scheduling import Abandon, SweepRules


async def sweep(
    connection: Connection,
    *,
    now: datetime,
    limit: int,
    rules: SweepRules,
    tables: EndpointTables,
    ids: Ids,
) -> list[SettledRun]:
    """Abandon the runs of expired leases, and remove one-shot hints that expired unserved.

    A lease is locked first, so it is either renewed or swept. A row that is locked is just being settled
    or changed; it is left to the next sweep.
    """
    tokens = [row[0] for row in await connection.fetch(sql.EXPIRED, now, limit)]
    abandoned = []
    if tokens:
        rows = await connection.fetch(sql.LEASED, tokens, limit)
        abandoned = [_abandoned(row, rules.abandon) for row in rows]
        await write_settled(connection, abandoned, ids)
        await connection.execute(sql.END_LEASES, tokens)
    stale = await connection.fetch(sql.STALE, now, limit)
    await _tidy(connection, stale, rules, tables, ids)
    if abandoned:
        await wake_workers(connection)
        await count_runs(connection, (one.settled for one in abandoned))
    return [one.settled for one in abandoned]


def _abandoned(row: Row, abandon: Abandon) -> SettledVersion:
    run = read_open_run(row, identity)
    assert run is not None, "a leased endpoint has an open run"
    return SettledVersion(abandon(read_endpoint(row, identity), run), row[VERSION])


async def _tidy(
    connection: Connection, stale: Sequence[Row], rules: SweepRules, tables: EndpointTables, ids: Ids
) -> None:
    tidied = [rules.tidy(read_endpoint(row, identity)) for row in stale]
    await tables.write_states(connection, [one.endpoint for one in tidied])
    await add_skipped_runs(connection, [(one.endpoint, slot) for one in tidied for slot in one.skipped], ids)
