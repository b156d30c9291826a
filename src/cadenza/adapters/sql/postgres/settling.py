"""Closing runs and writing where their endpoints stand then."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from cadenza.adapters.sql.postgres import statements as sql
from cadenza.adapters.sql.postgres.arrays import arrays
from cadenza.adapters.sql.postgres.cycle_statements import CHANGED, KEPT, SETTLE
from cadenza.adapters.sql.postgres.pool import Connection, PostgresPool
from cadenza.adapters.sql.postgres.reading import as_it_is, holds
from cadenza.adapters.sql.rows import VERSION, Row, read_endpoint, write_run, write_state
from cadenza.domain.endpoint import Endpoint
from cadenza.domain.run import Completion, SkippedSlot, skipped
from cadenza.domain.settle import Settled
from cadenza.ports.ids import Ids
from cadenza.ports.store import Settle

KNOWN_TO_THE_ROW = (None,) * len(KEPT)


class Batch(NamedTuple):
    """Runs that ended, and how to settle them."""

    completions: Sequence[Completion]
    settle: Settle
    ids: Ids


class Held(NamedTuple):
    """A settled endpoint, and the lease and version under which it may be written."""

    settled: Settled
    token: str
    version: int


async def finalize(pool: PostgresPool, batch: Batch) -> list[Settled | None]:
    """Settle endpoints as they were claimed: nearly always, nobody has steered meanwhile."""
    if not batch.completions:
        return []
    held = [
        Held(
            batch.settle(completion.claim.endpoint, completion),
            completion.claim.token,
            completion.claim.version,
        )
        for completion in batch.completions
    ]
    if not any(one.settled.skipped for one in held):
        closed = await pool.ask(SETTLE, len(held), *_columns(held))
        if len(closed) == len(held):
            return [one.settled for one in held]
    return await pool.write(lambda connection: _settle_all(connection, batch, held))


async def write_settled(connection: Connection, held: Sequence[Held], ids: Ids) -> set[str]:
    """Write what is held as it was read, with all its runs; the ids of the runs that were closed."""
    if not held:
        return set()
    closed = {row[0] for row in await connection.fetch(SETTLE, 0, *_columns(held))}
    passed = [
        (one.settled.endpoint, slot)
        for one in held
        if one.settled.run.id in closed
        for slot in one.settled.skipped
    ]
    await add_passed(connection, passed, ids)
    return closed


async def add_passed(
    connection: Connection, passed: Iterable[tuple[Endpoint, SkippedSlot]], ids: Ids
) -> None:
    """Add the runs of slots that passed without a claim."""
    runs = [write_run(skipped(endpoint, slot, ids.new())) for endpoint, slot in passed]
    if runs:
        await connection.execute(sql.ADD_RUNS, *arrays(runs))


async def _settle_all(connection: Connection, batch: Batch, held: Sequence[Held]) -> list[Settled | None]:
    """Settle what is as it was claimed, then the rest on fresh rows; what lost its lease is left alone.

    The first statement locks the rows of the whole batch in their order, so the second waits for nobody.
    """
    closed = await write_settled(connection, held, batch.ids)
    steered = [one for one in batch.completions if one.claim.run_id not in closed]
    fresh = await _settle_fresh(connection, steered, batch)
    answers = {one.settled.run.id: one.settled for one in held if one.settled.run.id in closed}
    answers |= {one.settled.run.id: one.settled for one in fresh}
    return [answers.get(completion.claim.run_id) for completion in batch.completions]


async def _settle_fresh(connection: Connection, steered: Sequence[Completion], batch: Batch) -> list[Held]:
    if not steered:
        return []
    found = await connection.fetch(sql.GET_MANY_LOCKED, *arrays({one.claim.key for one in steered}))
    rows: dict[tuple[str, str], Row] = {(row[0], row[1]): row for row in found}
    fresh = [
        Held(batch.settle(read_endpoint(row, as_it_is), completion), completion.claim.token, row[VERSION])
        for completion in steered
        if (row := rows.get(completion.claim.key)) is not None and holds(row, completion.claim)
    ]
    await write_settled(connection, fresh, batch.ids)
    return fresh


def _columns(held: Iterable[Held]) -> list[tuple[Any, ...] | None]:
    """The columns `SETTLED`."""
    return arrays(map(_row, held))


def _row(held: Held) -> tuple[Any, ...]:
    run = write_run(held.settled.run)
    id_, tenant_id, job_id, endpoint_id = run[:4]
    known = run[4:10] if held.settled.run.started_at is None else KNOWN_TO_THE_ROW
    changed = write_state(held.settled.endpoint)[: len(CHANGED)]
    return (id_, tenant_id, endpoint_id, held.token, held.version, job_id, *known, *run[10:], *changed)
