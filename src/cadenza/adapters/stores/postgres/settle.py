"""Closing runs, and writing the states of their endpoints."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from cadenza.adapters.stores.common import Closed
from cadenza.adapters.stores.postgres.arrays import SEPARATOR, arrays_or_shared, identity
from cadenza.adapters.stores.postgres.claim_statements import COUNTER_COLUMNS
from cadenza.adapters.stores.postgres.cycle_statements import (
    HELD_BY_ROW,
    LOCK,
    OUTCOME_COLUMNS,
    SENT_COLUMNS,
    SETTLE,
    SETTLE_ORDINARY,
    SETTLED_COLUMNS,
)
from cadenza.adapters.stores.postgres.pool import Connection, PostgresPool, Work
from cadenza.adapters.stores.sql.access.tenants import count_runs
from cadenza.adapters.stores.sql.agents.turns import write_effects
from cadenza.adapters.stores.sql.given_rows import columns_of
from cadenza.adapters.stores.sql.rows import (
    VERSION,
    Row,
    document,
    holds_lease,
    read_endpoint,
    storable,
    write_run,
    write_state,
)
from cadenza.adapters.stores.sql.scheduling.endpoints import GET_MANY_LOCKED, add_skipped_runs
from cadenza.adapters.stores.sql.scheduling.settling import CompletedBatch, is_ordinary
from cadenza.domain.access.tenant import charges
from cadenza.domain.scheduling.run import Completion, Run
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.ports.ids import Ids

Answer = TypeVar("Answer")
Column = Sequence[Any]
NO_PLACE = "(0,0)"
RUN_KEY = itemgetter(Run._fields.index("tenant_id"), Run._fields.index("endpoint_id"))


def all_ordinary(completions: Iterable[Completion], settled: Iterable[SettledRun]) -> bool:
    """May the batch be settled by `SETTLE_ORDINARY`?"""
    return all(
        not one.skipped and is_ordinary(completion.claim, one.endpoint)
        for completion, one in zip(completions, settled, strict=True)
    )


async def settle_ordinary(
    connection: Connection, completions: Sequence[Completion], settled: Sequence[SettledRun]
) -> bool:
    """Write a batch of ordinary runs.

    The answer is False if an endpoint has changed or its lease was lost: then the transaction must be
    rolled back.
    """
    charged = charges(settled)
    assert charged, "every run is charged"
    rows = await connection.fetch(SETTLE_ORDINARY, *columns_of(charged), *_parameters(completions, settled))
    return bool(rows[0][0] == len(settled))


def _parameters(completions: Sequence[Completion], settled: Sequence[SettledRun]) -> list[Any]:
    """The columns `ORDINARY_COLUMNS`, in the order of the keys, in which all transactions lock rows."""
    claims = [completion.claim for completion in completions]
    rows = sorted(zip(settled, claims, strict=True), key=lambda row: RUN_KEY(row[0].run))
    columns_of_run, after = _run_columns([one.run for one, _ in rows]), [one.endpoint for one, _ in rows]
    places = [str(claim.place or NO_PLACE) for _, claim in rows]
    columns = [
        [claim.version for _, claim in rows],
        *(columns_of_run[field] for field in SENT_COLUMNS),
        [endpoint.next_run_at for endpoint in after],
        [endpoint.next_source._value_ for endpoint in after],
        *([getattr(endpoint, count) for endpoint in after] for count in COUNTER_COLUMNS),
    ]
    return [
        SEPARATOR.join(columns_of_run["id"]),
        None,
        SEPARATOR.join(places),
        None,
        *arrays_or_shared(columns),
    ]


def _run_columns(runs: Sequence[Run]) -> dict[str, Column]:
    """The columns of runs, by their fields."""
    columns: dict[str, Column] = dict(zip(Run._fields, zip(*runs, strict=True), strict=True))
    return columns | {
        "status": [status._value_ for status in columns["status"]],
        "error": _written(columns["error"], storable),
        "reason": _written(columns["reason"], storable),
        "response": _written(columns["response"], document),
        "traceback": _written(columns["traceback"], storable),
    }


def _written(column: Column, write: Callable[[Any], Any]) -> Column:
    if column.count(None) == len(column):
        return column
    return [None if value is None else write(value) for value in column]


ROW_KEY = itemgetter(1, 2)
NOTHING = (None,)
NOT_SENT = (None,) * len(HELD_BY_ROW)


class SettledVersion(NamedTuple):
    """A settled run, and the version of its endpoint under which it may be written."""

    settled: SettledRun
    version: int


def with_effects(work: Work[Answer], closed: Closed[Answer]) -> Work[Answer]:
    """Work that closes runs, and then writes what these leave: turns, alerts, answers of probes."""

    async def all_of_it(connection: Connection) -> Answer:
        answer = await work(connection)
        await write_effects(connection, closed(answer))
        return answer

    return all_of_it


async def finalize(pool: PostgresPool, batch: CompletedBatch) -> list[SettledRun | None]:
    """Settle endpoints as they were claimed: nearly always they have not changed since."""
    if not batch.completions:
        return []
    held = [
        SettledVersion(batch.settle(completion.claim.endpoint, completion), completion.claim.version)
        for completion in batch.completions
    ]
    settled: list[SettledRun | None] = [one.settled for one in held]
    as_claimed = partial(_settle_as_claimed, held=held, batch=batch, at_places=pool.profile.row_places)
    if await pool.try_write(with_effects(as_claimed, lambda done: settled if done else [])):
        return settled
    return await pool.write(
        with_effects(partial(_settle_all, batch=batch, held=held), lambda answers: answers)
    )


async def _settle_as_claimed(
    connection: Connection, held: Sequence[SettledVersion], batch: CompletedBatch, *, at_places: bool
) -> bool:
    """Settle all of it as it was claimed; False if anything has changed: then it must be rolled back."""
    settled = [one.settled for one in held]
    if at_places and all_ordinary(batch.completions, settled):
        return await settle_ordinary(connection, batch.completions, settled)
    if len(await write_settled(connection, held, batch.ids)) < len(held):
        return False
    await count_runs(connection, settled)
    return True


async def write_settled(connection: Connection, held: Sequence[SettledVersion], ids: Ids) -> set[str]:
    """Write what has not changed, with all its runs; the ids of the runs that were closed."""
    if not held:
        return set()
    closed = {row[0] for row in await connection.fetch(SETTLE, *_columns(held))}
    passed = [
        (one.settled.endpoint, slot)
        for one in held
        if one.settled.run.id in closed
        for slot in one.settled.skipped
    ]
    await add_skipped_runs(connection, passed, ids)
    return closed


async def _settle_all(
    connection: Connection, batch: CompletedBatch, held: Sequence[SettledVersion]
) -> list[SettledRun | None]:
    """Settle what is as it was claimed, then the rest on fresh rows; runs that lost their lease are None.

    The rows of the whole batch are locked first, in the order of their keys, so that nothing waits later.
    """
    await connection.fetch(LOCK, *columns_of({one.claim.key for one in batch.completions}))
    closed = await write_settled(connection, held, batch.ids)
    changed = [one for one in batch.completions if one.claim.run_id not in closed]
    fresh = await _settle_fresh(connection, changed, batch)
    answers = {one.settled.run.id: one.settled for one in held if one.settled.run.id in closed}
    answers |= {one.settled.run.id: one.settled for one in fresh}
    await count_runs(connection, answers.values())
    return [answers.get(completion.claim.run_id) for completion in batch.completions]


async def _settle_fresh(
    connection: Connection, changed: Sequence[Completion], batch: CompletedBatch
) -> list[SettledVersion]:
    if not changed:
        return []
    found = await connection.fetch(GET_MANY_LOCKED, *columns_of({one.claim.key for one in changed}))
    rows: dict[tuple[str, str], Row] = {(row[0], row[1]): row for row in found}
    fresh = [
        SettledVersion(batch.settle(read_endpoint(row, identity), completion), row[VERSION])
        for completion in changed
        if (row := rows.get(completion.claim.key)) is not None and holds_lease(row, completion.claim)
    ]
    await write_settled(connection, fresh, batch.ids)
    return fresh


def _columns(held: Iterable[SettledVersion]) -> list[Any]:
    """What `SETTLE` takes, in the order of the keys, in which all transactions lock rows."""
    columns = dict(zip(SETTLED_COLUMNS, zip(*sorted(map(_row, held), key=ROW_KEY), strict=True), strict=True))
    at_next_run = columns["claimable_at"] == columns["next_run_at"]
    if at_next_run:
        columns["claimable_at"] = NOTHING
    ids, *others = columns.values()
    return [at_next_run, ids, None, *arrays_or_shared(others)]


def _row(held: SettledVersion) -> tuple[Any, ...]:
    run = write_run(held.settled.run)
    id_, tenant_id, job_id, endpoint_id = run[:4]
    sent = run[4:10] if held.settled.run.started_at is None else NOT_SENT
    changed = write_state(held.settled.endpoint)[: len(OUTCOME_COLUMNS)]
    return (id_, tenant_id, endpoint_id, held.version, job_id, *sent, *run[10:], *changed)
