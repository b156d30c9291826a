"""Writing settled endpoints and their runs, inside the writer's transaction."""

import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from cadenza.adapters.sql.rows import (
    LEASE,
    RUN_ID,
    Row,
    from_micros,
    read_endpoint,
    settled_plainly,
    to_micros,
    write_plain,
    write_run,
    write_state,
)
from cadenza.adapters.sql.sqlite import statements as sql
from cadenza.domain.endpoint import Endpoint
from cadenza.domain.run import Claim, Completion, Run, SkippedSlot, skipped
from cadenza.domain.settle import Settled
from cadenza.ports.ids import Ids
from cadenza.ports.store import Settle


class Steered(Exception):
    """Somebody has steered an endpoint, or taken its lease, since it was claimed."""


class Batch(NamedTuple):
    """Runs that ended, and how to settle them."""

    completions: Sequence[Completion]
    settle: Settle
    ids: Ids


def in_micros(values: Iterable[Any]) -> tuple[Any, ...]:
    """Values as SQLite takes them."""
    return tuple([to_micros(value) if type(value) is datetime else value for value in values])


def settle_unsteered(connection: sqlite3.Connection, batch: Batch) -> list[Settled]:
    """Settle what was claimed as it was claimed: nearly always, nobody has steered meanwhile."""
    settled = [batch.settle(completion.claim.endpoint, completion) for completion in batch.completions]
    plain, others = [], []
    for one, (claim, _, _) in zip(settled, batch.completions, strict=True):
        held = (*claim.key, claim.run_id, claim.token, claim.version)
        if settled_plainly(claim.endpoint, one.endpoint):
            plain.append((*write_plain(one.endpoint), *held))
        else:
            others.append(in_micros((*write_state(one.endpoint), *held)))
    written = connection.executemany(sql.SETTLE_PLAIN, plain).rowcount if plain else 0
    written += connection.executemany(sql.SETTLE_UNLESS_STEERED, others).rowcount if others else 0
    if written != len(settled):
        raise Steered
    add_runs(connection, settled, batch.ids)
    return settled


def settle_fresh(connection: sqlite3.Connection, batch: Batch) -> list[Settled | None]:
    """Settle each on its fresh row; what lost its lease is left alone."""
    answers: list[Settled | None] = []
    for completion in batch.completions:
        row = connection.execute(sql.GET, completion.claim.key).fetchone()
        held = row is not None and holds(row, completion.claim)
        answers.append(batch.settle(read_endpoint(row, from_micros), completion) if held else None)
    write_settled(connection, [answer for answer in answers if answer is not None], batch.ids)
    return answers


def write_settled(connection: sqlite3.Connection, settled: Sequence[Settled], ids: Ids) -> None:
    """Write where endpoints stand after their runs, and the runs."""
    connection.executemany(
        sql.SETTLE, [in_micros((*write_state(one.endpoint), *one.endpoint.key)) for one in settled]
    )
    add_runs(connection, settled, ids)


def add_runs(connection: sqlite3.Connection, settled: Sequence[Settled], ids: Ids) -> None:
    """Add the closed runs, and those of slots that passed."""
    _add_runs(connection, [one.run for one in settled])
    for one in settled:
        add_passed(connection, one.endpoint, one.skipped, ids)


def add_passed(
    connection: sqlite3.Connection, endpoint: Endpoint, passed: Sequence[SkippedSlot], ids: Ids
) -> None:
    """Add the runs of slots that passed without a claim."""
    if passed:
        _add_runs(connection, [skipped(endpoint, slot, ids.new()) for slot in passed])


def _add_runs(connection: sqlite3.Connection, runs: Sequence[Run]) -> None:
    connection.executemany(sql.ADD_RUN, [in_micros(write_run(run)) for run in runs])


def holds(row: Row, claim: Claim) -> bool:
    """Is this claim's lease still the one in the row?"""
    return (row[LEASE], row[RUN_ID]) == (claim.token, claim.run_id)
