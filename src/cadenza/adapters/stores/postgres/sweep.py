"""Closing the runs of expired leases, in one transaction that waits for no other."""

from collections.abc import Sequence

from cadenza.adapters.stores.postgres.arrays import identity
from cadenza.adapters.stores.postgres.pool import Connection
from cadenza.adapters.stores.postgres.settle import SettledVersion, write_settled
from cadenza.adapters.stores.sql.access.tenants import count_runs
from cadenza.adapters.stores.sql.database import wake_workers
from cadenza.adapters.stores.sql.rows import (
    LEASE,
    SELECT_ENDPOINT,
    VERSION,
    Row,
    read_death,
    read_endpoint,
    read_open_run,
)
from cadenza.adapters.stores.sql.scheduling.endpoints import EndpointTables, add_skipped_runs
from cadenza.domain.scheduling.run import ProcessDeath
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.ports.ids import Ids
from cadenza.ports.scheduling import Abandon, Now, SweepRules

EXPIRED = "SELECT token FROM leases WHERE until <= $1 ORDER BY token LIMIT $2 FOR UPDATE SKIP LOCKED"
LOCK_THEIRS = """
SELECT token FROM leases WHERE holder IN (SELECT holder FROM leases WHERE token = ANY ($1::text[]))
ORDER BY token FOR UPDATE SKIP LOCKED
"""
NOTE_DEATHS = """
WITH theirs AS MATERIALIZED (
    SELECT token, holder, in_flight FROM leases WHERE token = ANY ($1::text[])
), deaths AS (
    SELECT t.holder, count(*) AS in_flight, count(*) FILTER (WHERE s.abandoned_count > 0) AS suspects
    FROM theirs t JOIN endpoint_states s ON s.lease_token = t.token
    WHERE s.run_started_at IS NOT NULL GROUP BY t.holder
)
UPDATE leases l SET in_flight = d.in_flight, suspects = d.suspects
FROM theirs t JOIN deaths d ON d.holder = t.holder WHERE l.token = t.token AND t.in_flight IS NULL
"""
"""Noted once for all leases of a holder: they run out one after the other, and are not all swept in one
commit. A holder that lives has its own noted too, until it renews them."""
DEATHS = "SELECT token, in_flight, suspects FROM leases WHERE token = ANY ($1::text[])"
LEASED = (
    f"{SELECT_ENDPOINT} WHERE s.lease_token = ANY ($1::text[])"
    " ORDER BY s.tenant_id, s.endpoint_id LIMIT $2 FOR UPDATE OF s, e SKIP LOCKED"
)
END_LEASES = (
    "DELETE FROM leases WHERE token = ANY ($1::text[]) AND NOT EXISTS"
    " (SELECT FROM endpoint_states WHERE lease_token = leases.token)"
)
STALE = f"{SELECT_ENDPOINT} WHERE s.tidy_at <= $1 ORDER BY s.tidy_at LIMIT $2 FOR UPDATE OF s, e SKIP LOCKED"


async def sweep(
    connection: Connection,
    *,
    now: Now,
    limit: int,
    rules: SweepRules,
    tables: EndpointTables,
    ids: Ids,
) -> list[SettledRun]:
    """Abandon the runs of expired leases, and remove one-shot hints that expired unserved.

    A lease is locked first, so it is either renewed or swept. A row that is locked is just being settled
    or changed; it is left to the next sweep.
    """
    moment = now()
    tokens = [row[0] for row in await connection.fetch(EXPIRED, moment, limit)]
    abandoned = []
    if tokens:
        rows = await connection.fetch(LEASED, tokens, limit)
        deaths = await _deaths(connection, list({row[LEASE] for row in rows}))
        abandoned = [_abandoned(row, rules.abandon, deaths[row[LEASE]]) for row in rows]
        await write_settled(connection, abandoned, ids)
        await connection.execute(END_LEASES, tokens)
    stale = await connection.fetch(STALE, moment, limit)
    await _tidy(connection, stale, rules, tables, ids)
    if abandoned:
        await wake_workers(connection, (one.settled.run.tenant_id for one in abandoned))
        await count_runs(connection, (one.settled for one in abandoned))
    return [one.settled for one in abandoned]


async def _deaths(connection: Connection, tokens: list[str]) -> dict[str, ProcessDeath]:
    """What the holders of leases had in flight when they ran out."""
    if not tokens:
        return {}
    theirs = [row[0] for row in await connection.fetch(LOCK_THEIRS, tokens)]
    await connection.execute(NOTE_DEATHS, theirs)
    return {row[0]: read_death(row) for row in await connection.fetch(DEATHS, tokens)}


def _abandoned(row: Row, abandon: Abandon, death: ProcessDeath) -> SettledVersion:
    run = read_open_run(row, identity)
    assert run is not None, "a leased endpoint has an open run"
    return SettledVersion(abandon(read_endpoint(row, identity), run, death), row[VERSION])


async def _tidy(
    connection: Connection, stale: Sequence[Row], rules: SweepRules, tables: EndpointTables, ids: Ids
) -> None:
    tidied = [rules.tidy(read_endpoint(row, identity)) for row in stale]
    await tables.write_states(connection, [one.endpoint for one in tidied])
    await add_skipped_runs(connection, [(one.endpoint, slot) for one in tidied for slot in one.skipped], ids)
