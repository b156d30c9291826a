"""Writing settled endpoints and their runs, inside the writer's transaction."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from cadenza.adapters.stores.common import Closed, has_effects
from cadenza.adapters.stores.sql.agents.turns import write_effects
from cadenza.adapters.stores.sql.rows import (
    from_micros,
    holds_lease,
    read_endpoint,
    to_micros,
    write_run,
    write_state,
)
from cadenza.adapters.stores.sql.scheduling.settling import CompletedBatch, is_ordinary
from cadenza.adapters.stores.sqlite import cycle_statements as sql
from cadenza.adapters.stores.sqlite.cycle_statements import (
    add_textless_runs,
    read_many,
    runs_as_claimed,
    settle_ordinary,
    write_many,
)
from cadenza.adapters.stores.sqlite.dialect import SqliteConnection
from cadenza.adapters.stores.sqlite.one_commit import run_to_end
from cadenza.domain.access.tenant import charges
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Claim, Completion, Run, SkippedSlot, skipped_run
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.ports.ids import Ids
from cadenza.ports.scheduling import Settle

Answer = TypeVar("Answer")
ONLY_SHARD = 0
"""A file has one writer at a time, so counters need no shards."""
COUNT = """
INSERT INTO usage (tenant_id, month, shard, runs, planner_tokens) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (tenant_id, month, shard) DO UPDATE
SET runs = runs + excluded.runs, planner_tokens = planner_tokens + excluded.planner_tokens
"""


def count_runs(connection: sqlite3.Connection, settled: Iterable[SettledRun]) -> None:
    """Add the runs of a batch to the usage of their tenants: one statement for each tenant."""
    connection.executemany(
        COUNT, [(charge.tenant_id, charge.month, ONLY_SHARD, charge.runs, 0) for charge in charges(settled)]
    )


class ChangedSinceClaim(Exception):
    """An endpoint was changed, or its lease was lost, since it was claimed."""


class SettledClaim(NamedTuple):
    """A claim, and how its run was settled."""

    claim: Claim
    settled: SettledRun


def in_micros(values: Iterable[Any]) -> tuple[Any, ...]:
    """Values as SQLite takes them."""
    return tuple([to_micros(value) if type(value) is datetime else value for value in values])


def settled_as_claimed(batch: CompletedBatch) -> list[SettledClaim]:
    """Settle endpoints as they were claimed: nearly always they have not changed since."""
    return [
        SettledClaim(completion.claim, batch.settle(completion.claim.endpoint, completion))
        for completion in batch.completions
    ]


def write_as_claimed(connection: sqlite3.Connection, held: Sequence[SettledClaim], ids: Ids) -> None:
    """Write what was settled as it was claimed, all of it or nothing.

    Raises `ChangedSinceClaim` if any of the endpoints is not as it was claimed.
    """
    if _write_states(connection, held) != len(held):
        raise ChangedSinceClaim
    _close_runs(connection, held)
    _add_all_skipped(connection, [one.settled for one in held], ids)
    count_runs(connection, (one.settled for one in held))


def _close_runs(connection: sqlite3.Connection, held: Sequence[SettledClaim]) -> None:
    """Add the runs of rows that were just written; most columns of a run without texts are in its row."""
    textless, others = [], []
    for claim, settled in held:
        run = settled.run
        if _is_textless(claim, run):
            textless.append(_textless_run(claim, run))
        else:
            others.append(run)
    write_many(connection, add_textless_runs, textless)
    _add_runs(connection, others)


def _write_states(connection: sqlite3.Connection, held: Sequence[SettledClaim]) -> int:
    """Write the states of endpoints that are as they were claimed; how many these were."""
    ordinary, others = [], []
    for claim, settled in held:
        endpoint = settled.endpoint
        if claim.place and is_ordinary(claim, endpoint):
            ordinary.append(_ordinary_state(claim, endpoint))
        else:
            others.append(_whole_state(claim, endpoint))
    written = write_many(connection, settle_ordinary, ordinary)
    return written + (connection.executemany(sql.SETTLE_AS_CLAIMED, others).rowcount if others else 0)


def _is_textless(claim: Claim, run: Run) -> bool:
    started = claim.started_at is not None and claim.place != 0
    return started and run.error is None and run.reason is None and run.response is None


def _textless_run(claim: Claim, run: Run) -> tuple[Any, ...]:
    """The columns `SENT_COLUMNS`."""
    assert run.status is not None, "an open run is in its endpoint's state"
    return (
        claim.place,
        run.job_id,
        to_micros(run.finished_at),
        run.status._value_,
        run.duration_ms,
        run.late_ms,
        run.coalesced,
        1 if run.verdict else 0,
    )


def _ordinary_state(claim: Claim, after: Endpoint) -> tuple[Any, ...]:
    """The columns `ORDINARY_COLUMNS`."""
    return (
        claim.place,
        claim.run_id,
        claim.token,
        claim.version,
        to_micros(after.next_run_at),
        after.next_source._value_,
        after.missed_slots,
        after.failure_count,
        after.abandoned_count,
    )


def _whole_state(claim: Claim, after: Endpoint) -> tuple[Any, ...]:
    return in_micros((*write_state(after), *claim.key, claim.run_id, claim.token, claim.version))


def settle_fresh(
    connection: sqlite3.Connection, batch: CompletedBatch, held: Sequence[SettledClaim]
) -> list[SettledRun | None]:
    """Write what is as it was claimed, settle the rest on fresh rows; runs that lost their lease are None."""
    claims = [(claim.place, claim.run_id, claim.token, claim.version) for claim, _ in held]
    unchanged = {run_id for (run_id,) in read_many(connection, runs_as_claimed, claims)}
    as_claimed = {one.claim.run_id: one for one in held if one.claim.run_id in unchanged}
    write_as_claimed(connection, list(as_claimed.values()), batch.ids)
    answers = [
        as_claimed[run_id].settled
        if (run_id := completion.claim.run_id) in as_claimed
        else _settled_fresh(connection, completion, batch.settle)
        for completion in batch.completions
    ]
    fresh = [one for one in answers if one is not None and one.run.id not in as_claimed]
    write_settled(connection, fresh, batch.ids)
    return answers


def _settled_fresh(
    connection: sqlite3.Connection, completion: Completion, settle: Settle
) -> SettledRun | None:
    row = connection.execute(sql.GET, completion.claim.key).fetchone()
    if row is None or not holds_lease(row, completion.claim):
        return None
    return settle(read_endpoint(row, from_micros), completion)


def write_settled(connection: sqlite3.Connection, settled: Sequence[SettledRun], ids: Ids) -> None:
    """Write the states of endpoints after their runs, and the runs."""
    connection.executemany(
        sql.SETTLE, [in_micros((*write_state(one.endpoint), *one.endpoint.key)) for one in settled]
    )
    add_runs(connection, settled, ids)
    count_runs(connection, settled)


def add_runs(connection: sqlite3.Connection, settled: Sequence[SettledRun], ids: Ids) -> None:
    """Add the closed runs, and those of slots that passed."""
    _add_runs(connection, [one.run for one in settled])
    _add_all_skipped(connection, settled, ids)


def _add_all_skipped(connection: sqlite3.Connection, settled: Sequence[SettledRun], ids: Ids) -> None:
    for one in settled:
        if one.skipped:
            add_skipped_runs(connection, one.endpoint, one.skipped, ids)


def add_skipped_runs(
    connection: sqlite3.Connection, endpoint: Endpoint, slots: Sequence[SkippedSlot], ids: Ids
) -> None:
    """Add the runs of slots that passed without a claim."""
    if slots:
        _add_runs(connection, [skipped_run(endpoint, slot, ids.new()) for slot in slots])


def _add_runs(connection: sqlite3.Connection, runs: Sequence[Run]) -> None:
    connection.executemany(sql.ADD_RUN, [in_micros(write_run(run)) for run in runs])


def with_effects(
    work: Callable[[sqlite3.Connection], Answer], closed: Closed[Answer]
) -> Callable[[sqlite3.Connection], Answer]:
    """Work that closes runs, and then writes what these leave: turns, alerts, answers of probes."""

    def all_of_it(connection: sqlite3.Connection) -> Answer:
        answer = work(connection)
        settled = list(closed(answer))
        if has_effects(settled):
            run_to_end(write_effects(SqliteConnection(connection), settled).__await__())
        return answer

    return all_of_it
