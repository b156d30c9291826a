"""What holds whatever happens to an endpoint."""

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

from hypothesis import given
from tests.scheduling.endpoint_strategies import NO_CALENDARS, calendar_rules
from tests.scheduling.random_walk import (
    REPEATING,
    STEERING,
    Cycle,
    cycles,
    hint_one_shot,
    pause,
    run_at_once,
    walk,
    workers,
)
from tests.scheduling.scheduling_fixtures import NOW, Worker, verdicts

from cadenza.domain.scheduling.baseline import Once
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.domain.validation import milliseconds

ONCE = Once(NOW)
RULES = NO_CALENDARS | calendar_rules()
ALL_STEERING = (*STEERING, hint_one_shot, hint_one_shot)


def came_due(rows: Sequence[Run]) -> set[datetime]:
    """Slots that were attempted, or that passed; a claim given back before its moment is neither."""
    return {row.slot for row in rows if row.started_at or (row.finished_at and row.finished_at >= row.slot)}


def is_told_once(worker: Worker) -> None:
    told, endpoint = verdicts(worker.rows), worker.endpoint
    assert max(told.values(), default=0) <= 1
    waiting = endpoint.open_slot.slot if endpoint.open_slot else endpoint.next_run_at
    untold = {slot for slot in came_due(worker.rows) if told[slot] == 0}
    assert untold <= {waiting, worker.held.slot if worker.held else waiting}


@given(workers(*REPEATING, ONCE, rules=RULES), cycles())
def test_every_slot_gets_exactly_one_verdict(worker: Worker, steps: list[Cycle]) -> None:
    walk(worker, steps)
    is_told_once(worker)


@given(workers(*REPEATING, ONCE, rules=RULES), cycles(ALL_STEERING))
def test_every_slot_gets_exactly_one_verdict_with_one_shots_too(worker: Worker, steps: list[Cycle]) -> None:
    walk(worker, steps)
    is_told_once(worker)


@given(workers(*REPEATING, ONCE, rules=RULES), cycles(ALL_STEERING))
def test_no_run_starts_before_the_moment_it_is_for(worker: Worker, steps: list[Cycle]) -> None:
    walk(worker, steps)
    for row in worker.rows:
        assert row.started_at is None or row.started_at >= max(row.slot, row.due_at)


@given(workers(*REPEATING, ONCE, rules=RULES), cycles(ALL_STEERING))
def test_a_pause_is_never_crossed(worker: Worker, steps: list[Cycle]) -> None:
    walk(worker, steps)
    starts = [row.started_at for row in worker.rows if row.started_at]
    assert not any(since < start < until for since, until in worker.pauses for start in starts)


@given(workers(*REPEATING, rules=RULES), cycles([steer for steer in ALL_STEERING if steer is not pause]))
def test_two_runs_are_never_closer_than_the_guard_allows(worker: Worker, steps: list[Cycle]) -> None:
    least = milliseconds(worker.endpoint.guard.min_interval_ms or 0)
    walk(worker, steps)
    ran = [row.started_at for row in worker.rows if row.started_at and row.status is not RunStatus.SKIPPED]
    for earlier, later in pairwise(ran):
        assert later - earlier >= least


@given(workers(*REPEATING), cycles(ALL_STEERING))
def test_what_repeats_always_has_a_next_run(worker: Worker, steps: list[Cycle]) -> None:
    walk(worker, steps)
    assert worker.endpoint.next_run_at is not None
    assert (worker.held is None) == (worker.endpoint.lease is None)


@given(workers(ONCE, rules=RULES), cycles([steer for steer in STEERING if steer is not run_at_once]))
def test_what_runs_once_succeeds_once_at_most(worker: Worker, steps: list[Cycle]) -> None:
    walk(worker, steps)
    assert sum(row.status is RunStatus.SUCCESS for row in worker.rows) <= 1


@given(workers(*REPEATING, ONCE, rules=RULES), cycles(ALL_STEERING))
def test_attempts_of_a_slot_that_were_started_count_upwards(worker: Worker, steps: list[Cycle]) -> None:
    walk(worker, steps)
    ran = [row for row in worker.rows if row.started_at and row.status is not RunStatus.SKIPPED]
    for slot in {row.slot for row in ran}:
        attempts = [row.attempt for row in ran if row.slot == slot]
        assert attempts == sorted(set(attempts))
