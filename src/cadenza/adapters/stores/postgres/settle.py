"""Closing runs and writing where their endpoints stand then."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from cadenza.adapters.stores.common import Closed
from cadenza.adapters.stores.postgres.arrays import SEPARATOR, arrays_or_shared, identity
from cadenza.adapters.stores.postgres.cycle_statements import (
    CHANGED,
    COUNTS,
    KEPT,
    LOCK,
    SETTLE,
    SETTLE_PLAIN,
    SETTLED,
    TOLD,
)
from cadenza.adapters.stores.postgres.pool import Connection, PostgresPool, Work
from cadenza.adapters.stores.sql.access.tenants import count_runs
from cadenza.adapters.stores.sql.agents.turns import write_turns_and_alerts
from cadenza.adapters.stores.sql.given_rows import columns_of
from cadenza.adapters.stores.sql.ordinary_run import is_plain
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
from cadenza.domain.access.tenant import charges
from cadenza.domain.scheduling.run import Completion, Run
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.ports.ids import Ids
from cadenza.ports.scheduling import Settle

Answer = TypeVar("Answer")
Column = Sequence[Any]
NOWHERE = "(0,0)"
RUN_KEY = itemgetter(Run._fields.index("tenant_id"), Run._fields.index("endpoint_id"))


def all_plain(completions: Iterable[Completion], settled: Iterable[SettledRun]) -> bool:
    """Is this a batch for the narrow statement?"""
    return all(
        not one.skipped and is_plain(completion.claim, one.endpoint)
        for completion, one in zip(completions, settled, strict=True)
    )


async def settle_plain(
    connection: Connection, completions: Sequence[Completion], settled: Sequence[SettledRun]
) -> bool:
    """Write it all; False, and then nothing may be kept, if anything was steered or its lease was lost."""
    charged = charges(settled)
    assert charged, "what ran is charged"
    rows = await connection.fetch(SETTLE_PLAIN, *columns_of(charged), *_parameters(completions, settled))
    return bool(rows[0][0] == len(settled))


def _parameters(completions: Sequence[Completion], settled: Sequence[SettledRun]) -> list[Any]:
    """The columns `PLAIN`, in the order of the keys: everybody locks rows in this order."""
    claims = [completion.claim for completion in completions]
    rows = sorted(zip(settled, claims, strict=True), key=lambda row: RUN_KEY(row[0].run))
    told, after = _told([one.run for one, _ in rows]), [one.endpoint for one, _ in rows]
    places = [str(claim.place or NOWHERE) for _, claim in rows]
    columns = [
        [claim.version for _, claim in rows],
        *(told[field] for field in TOLD),
        [endpoint.next_run_at for endpoint in after],
        [endpoint.next_source._value_ for endpoint in after],
        *([getattr(endpoint, count) for endpoint in after] for count in COUNTS),
    ]
    return [SEPARATOR.join(told["id"]), None, SEPARATOR.join(places), None, *arrays_or_shared(columns)]


def _told(runs: Sequence[Run]) -> dict[str, Column]:
    """The columns of runs, by their fields."""
    told: dict[str, Column] = dict(zip(Run._fields, zip(*runs, strict=True), strict=True))
    return told | {
        "status": [status._value_ for status in told["status"]],
        "error": _written(told["error"], storable),
        "reason": _written(told["reason"], storable),
        "response": _written(told["response"], document),
    }


def _written(column: Column, write: Callable[[Any], Any]) -> Column:
    if column.count(None) == len(column):
        return column
    return [None if value is None else write(value) for value in column]


ROW_KEY = itemgetter(1, 2)
NOTHING = (None,)
KNOWN_TO_THE_ROW = (None,) * len(KEPT)


class Batch(NamedTuple):
    """Runs that ended, and how to settle them."""

    completions: Sequence[Completion]
    settle: Settle
    ids: Ids


class Held(NamedTuple):
    """A settled endpoint, and the version under which it may be written."""

    settled: SettledRun
    version: int


def with_turns_and_alerts(work: Work[Answer], closed: Closed[Answer]) -> Work[Answer]:
    """Work that closes runs, and then writes the turns and the alerts that these left."""

    async def all_of_it(connection: Connection) -> Answer:
        answer = await work(connection)
        await write_turns_and_alerts(connection, closed(answer))
        return answer

    return all_of_it


async def finalize(pool: PostgresPool, batch: Batch) -> list[SettledRun | None]:
    """Settle endpoints as they were claimed: nearly always, nobody has steered meanwhile."""
    if not batch.completions:
        return []
    held = [
        Held(batch.settle(completion.claim.endpoint, completion), completion.claim.version)
        for completion in batch.completions
    ]
    settled: list[SettledRun | None] = [one.settled for one in held]
    unsteered = partial(_settle_unsteered, held=held, batch=batch)
    if await pool.try_write(with_turns_and_alerts(unsteered, lambda done: settled if done else [])):
        return settled
    return await pool.write(
        with_turns_and_alerts(partial(_settle_all, batch=batch, held=held), lambda answers: answers)
    )


async def _settle_unsteered(connection: Connection, held: Sequence[Held], batch: Batch) -> bool:
    """Settle all of it as it was claimed; False, and then nothing may be kept, if anything was steered."""
    settled = [one.settled for one in held]
    if all_plain(batch.completions, settled):
        return await settle_plain(connection, batch.completions, settled)
    if len(await write_settled(connection, held, batch.ids)) < len(held):
        return False
    await count_runs(connection, settled)
    return True


async def write_settled(connection: Connection, held: Sequence[Held], ids: Ids) -> set[str]:
    """Write what is held as it was read, with all its runs; the ids of the runs that were closed."""
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


async def _settle_all(connection: Connection, batch: Batch, held: Sequence[Held]) -> list[SettledRun | None]:
    """Settle what is as it was claimed, then the rest on fresh rows; what lost its lease is left alone.

    The rows of the whole batch are locked first, in their order, so nothing after that waits for anybody.
    """
    await connection.fetch(LOCK, *columns_of({one.claim.key for one in batch.completions}))
    closed = await write_settled(connection, held, batch.ids)
    steered = [one for one in batch.completions if one.claim.run_id not in closed]
    fresh = await _settle_fresh(connection, steered, batch)
    answers = {one.settled.run.id: one.settled for one in held if one.settled.run.id in closed}
    answers |= {one.settled.run.id: one.settled for one in fresh}
    await count_runs(connection, answers.values())
    return [answers.get(completion.claim.run_id) for completion in batch.completions]


async def _settle_fresh(connection: Connection, steered: Sequence[Completion], batch: Batch) -> list[Held]:
    if not steered:
        return []
    found = await connection.fetch(GET_MANY_LOCKED, *columns_of({one.claim.key for one in steered}))
    rows: dict[tuple[str, str], Row] = {(row[0], row[1]): row for row in found}
    fresh = [
        Held(batch.settle(read_endpoint(row, identity), completion), row[VERSION])
        for completion in steered
        if (row := rows.get(completion.claim.key)) is not None and holds_lease(row, completion.claim)
    ]
    await write_settled(connection, fresh, batch.ids)
    return fresh


def _columns(held: Iterable[Held]) -> list[Any]:
    """What `SETTLE` takes, in the order of the keys: everybody locks rows in this order."""
    columns = dict(zip(SETTLED, zip(*sorted(map(_row, held), key=ROW_KEY), strict=True), strict=True))
    as_planned = columns["claimable_at"] == columns["next_run_at"]
    if as_planned:
        columns["claimable_at"] = NOTHING
    ids, *others = columns.values()
    return [as_planned, ids, None, *arrays_or_shared(others)]


def _row(held: Held) -> tuple[Any, ...]:
    run = write_run(held.settled.run)
    id_, tenant_id, job_id, endpoint_id = run[:4]
    known = run[4:10] if held.settled.run.started_at is None else KNOWN_TO_THE_ROW
    changed = write_state(held.settled.endpoint)[: len(CHANGED)]
    return (id_, tenant_id, endpoint_id, held.version, job_id, *known, *run[10:], *changed)
