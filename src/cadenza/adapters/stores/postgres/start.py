"""Starting claims that waited for their moment, on endpoints that may have changed meanwhile."""

from collections.abc import Iterable, Sequence
from typing import Any

from cadenza.adapters.stores.postgres.arrays import identity
from cadenza.adapters.stores.postgres.cycle_statements import CLAIM_COLUMNS, IS_AS_CLAIMED, SAME
from cadenza.adapters.stores.postgres.pool import Connection, PostgresPool
from cadenza.adapters.stores.sql.given_rows import columns_of, parameter_table
from cadenza.adapters.stores.sql.rows import VERSION, Row, holds_lease, read_endpoint
from cadenza.adapters.stores.sql.scheduling.endpoints import GET_MANY_LOCKED
from cadenza.domain.scheduling.due import Cancel, Recheck
from cadenza.domain.scheduling.run import Claim
from cadenza.ports.scheduling import RecheckClaim

STARTED_COLUMNS = (*CLAIM_COLUMNS, "slot", "due_at", "source", "started_at", "starts")
PLACE = "s.ctid::text"
START = f"""
WITH locked AS MATERIALIZED (
    SELECT g.id, s.run_id = g.id AND s.version = g.version AS unchanged
    FROM {parameter_table("g", *CLAIM_COLUMNS, first=2)} JOIN endpoint_states s ON {SAME}
    ORDER BY s.tenant_id, s.endpoint_id FOR UPDATE OF s
), agreed AS MATERIALIZED (
    SELECT count(*) FILTER (WHERE unchanged) AS count FROM locked
), started AS (
    UPDATE endpoint_states s
    SET run_slot = g.slot, run_due_at = g.due_at, run_source = g.source, run_started_at = g.started_at
    FROM {parameter_table("g", *STARTED_COLUMNS, first=2)}
    WHERE {IS_AS_CLAIMED} AND g.starts AND (SELECT count FROM agreed) >= $1::int
    RETURNING g.id, {PLACE} AS place
)
SELECT id, NULL AS place FROM locked WHERE unchanged UNION ALL SELECT id, place FROM started
"""
"""Parameters: how many must be unchanged for anything to be written, and the columns of `STARTED_COLUMNS`.
Returns the runs whose endpoints have not changed, and then, once more, those that were written, with their
new places: a join of the two would compare each with each.

It comes just before a run, so it is one round trip; settling comes after, and takes a transaction.
"""

START_BY_KEY = START.replace(PLACE, "'0'")
"""Where rows have no places."""


async def start(pool: PostgresPool, claims: Sequence[Claim], decide: RecheckClaim) -> list[Recheck | None]:
    """Decide on the endpoints as they were claimed; if any has changed since, on fresh rows."""
    if not claims:
        return []
    answers = [decide(held.endpoint, held) for held in claims]
    rows = await pool.ask(_statement(pool), len(answers), *columns_of(map(_started, answers)))
    if sum(place is None for _, place in rows) == len(answers):
        return _moved(answers, rows)
    statement = _statement(pool)
    return await pool.write(lambda connection: _start_fresh(connection, claims, decide, statement=statement))


def _statement(pool: PostgresPool) -> str:
    return START if pool.profile.row_places else START_BY_KEY


async def _start_fresh(
    connection: Connection, claims: Sequence[Claim], decide: RecheckClaim, *, statement: str
) -> list[Recheck | None]:
    found = await connection.fetch(GET_MANY_LOCKED, *columns_of({held.key for held in claims}))
    rows: dict[tuple[str, str], Row] = {(row[0], row[1]): row for row in found}
    answers = [_recheck(rows.get(held.key), held, decide) for held in claims]
    going_on = [_started(answer) for answer in answers if answer is not None]
    if not going_on:
        return answers
    return _moved(answers, await connection.fetch(statement, 0, *columns_of(going_on)))


def _moved(answers: Iterable[Recheck | None], rows: Iterable[Row]) -> list[Recheck | None]:
    """The answers, with the places to which their rows were written."""
    places = {run_id: place for run_id, place in rows if place is not None}
    return [
        answer._replace(claim=answer.claim._replace(place=places[answer.claim.run_id]))
        if answer is not None and answer.claim.run_id in places
        else answer
        for answer in answers
    ]


def _recheck(row: Row | None, held: Claim, decide: RecheckClaim) -> Recheck | None:
    if row is None or not holds_lease(row, held):
        return None
    answer = decide(read_endpoint(row, identity), held)
    return (
        answer
        if isinstance(answer, Cancel)
        else answer._replace(claim=answer.claim._replace(version=row[VERSION]))
    )


def _started(answer: Recheck) -> tuple[Any, ...]:
    """The columns `STARTED_COLUMNS`."""
    claim = answer.claim
    tenant_id, endpoint_id = claim.key
    return (
        claim.run_id,
        tenant_id,
        endpoint_id,
        claim.version,
        claim.slot,
        claim.due_at,
        claim.source.value,
        claim.started_at,
        not isinstance(answer, Cancel),
    )
