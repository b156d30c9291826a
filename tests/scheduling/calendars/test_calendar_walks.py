"""What holds in calendars whatever happens to an endpoint."""

from datetime import datetime
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tests.scheduling.endpoint_strategies import calendar_rules
from tests.scheduling.random_walk import (
    REPEATING,
    STEERING,
    Cycle,
    cycles,
    hint_one_shot,
    walk,
    workers,
)
from tests.scheduling.scheduling_fixtures import (
    CRON,
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    Worker,
    a_calendar,
    an_endpoint,
    at,
)

from cadenza.domain.scheduling.baseline import Cron, Every, Once
from cadenza.domain.scheduling.calendars.gate import is_closed
from cadenza.domain.scheduling.calendars.rules import CalendarRules, WhenClosed
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Policy
from cadenza.domain.scheduling.run import Run, RunStatus

ALL_STEERING = (*STEERING, hint_one_shot)
NIGHTS = a_calendar(*(edge * HOUR for edge in (-9, 0, 3, 5, 6, 9, 9 * 100, 10 * 100)))
INTERVALS = st.sampled_from((Every(7 * MINUTE), Every(MINUTE), Every(HOUR), Every(4 * HOUR)))
LINES = st.sampled_from((Cron("*/15 * * * *"), Cron("*/60 * * * *"), Cron("*/5 * * * *")))


def by_calendar(rows: list[Run]) -> list[Run]:
    words = ("outside of", "inside")
    return [row for row in rows if row.status is RunStatus.SKIPPED and (row.reason or "").startswith(words)]


def closure(rules: CalendarRules, moment: datetime) -> datetime | None:
    assert rules.open_times is not None
    return rules.open_times.closed_since(moment)


@given(workers(*REPEATING, Once(NOW), rules=calendar_rules()), cycles(ALL_STEERING))
def test_nothing_ever_starts_while_closed(worker: Worker, steps: list[Cycle]) -> None:
    walk(worker, steps)
    assert not any(is_closed(worker.endpoint.calendar_rules, moment) for moment in worker.dispatched)


@given(workers(*REPEATING, rules=calendar_rules()), cycles(ALL_STEERING))
def test_each_time_it_is_closed_has_at_most_one_skipped_verdict(worker: Worker, steps: list[Cycle]) -> None:
    walk(worker, steps)
    rows, rules = by_calendar(worker.rows), worker.endpoint.calendar_rules
    closures = [closure(rules, row.finished_at or row.slot) for row in rows if row.source is Source.CLOSED]
    assert len(closures) == len(set(closures))
    assert all(row.verdict for row in rows)


@given(INTERVALS | LINES, st.integers(1, HOUR))
def test_each_closure_that_holds_slots_has_one_verdict_that_counts_them(
    baseline: Every | Cron, late_ms: int
) -> None:
    rules = CalendarRules(only_during=NIGHTS)
    worker = Worker(an_endpoint(baseline=baseline, calendar_rules=rules, next_run_at=at(-8 * HOUR)))
    worker.now = at(-8 * HOUR)
    while worker.now < at(8 * HOUR):
        worker.run(lasting_ms=SECOND)
    skipped = by_calendar(worker.rows)
    assert len({closure(rules, row.slot) for row in skipped}) == len(skipped)
    for row, following in pairwise(worker.rows):
        assert row.slot < following.slot
        between = _slots(baseline, row, following)
        assert row.coalesced == (between if row in skipped else 0)


def _slots(baseline: Every | Cron, row: Run, following: Run) -> int:
    """How many slots lie between two, counted one by one."""
    count, moment = 0, row.slot
    while True:
        moment = (
            CRON.next(baseline.expression, moment)
            if isinstance(baseline, Cron)
            else at(0) + (moment - at(0)) + (at(baseline.interval_ms) - at(0))
        )
        if moment >= following.slot:
            return count
        count += 1


def test_what_runs_at_the_end_runs_once_and_counts_the_slots_it_stands_for() -> None:
    rules = CalendarRules(only_during=NIGHTS, when_closed=WhenClosed.RUN_AT_END)
    worker = Worker(an_endpoint(baseline=Every(HOUR), calendar_rules=rules, next_run_at=at(-HOUR)), at(-HOUR))
    for _ in range(4):
        worker.run()
    assert [(row.slot, row.source, row.coalesced) for row in worker.rows] == [
        (at(-HOUR), "first", 0),
        (at(3 * HOUR), "calendar", 2),
        (at(4 * HOUR), "baseline-interval", 0),
        (at(6 * HOUR), "calendar", 0),
    ]


def test_a_slot_that_nobody_served_before_it_closed_is_skipped_then() -> None:
    rules = CalendarRules(only_during=NIGHTS)
    worker = Worker(an_endpoint(baseline=Every(HOUR), calendar_rules=rules, next_run_at=at(-MINUTE)))
    worker.now = at(MINUTE)
    worker.run()
    (row,) = worker.rows
    until = "2025-03-30T03:55:00Z"
    assert (row.status, row.verdict) == (RunStatus.SKIPPED, True)
    assert row.reason == f"outside of the calendar work until {until}"
    assert (worker.endpoint.next_run_at, worker.endpoint.last_run_at) == (at(3 * HOUR + MINUTE), None)


def test_one_that_runs_at_the_end_waits_as_the_same_slot() -> None:
    rules = CalendarRules(only_during=NIGHTS, when_closed=WhenClosed.RUN_AT_END)
    worker = Worker(an_endpoint(baseline=Every(HOUR), calendar_rules=rules, next_run_at=at(-MINUTE)))
    worker.now = at(MINUTE)
    worker.run()
    worker.run()
    first, second = worker.rows
    assert (first.status, first.verdict, first.started_at) == (RunStatus.CANCELLED, False, None)
    assert (second.slot, second.due_at, second.attempt) == (at(-MINUTE), at(3 * HOUR), 1)
    assert second.verdict


def test_a_retry_waits_for_the_opening() -> None:
    policy, rules = Policy(max_attempts=3, retry_delay_ms=5 * MINUTE), CalendarRules(only_during=NIGHTS)
    worker = Worker(
        an_endpoint(baseline=Every(HOUR), policy=policy, calendar_rules=rules, next_run_at=at(-MINUTE)),
        at(-MINUTE),
    )
    worker.run(RunStatus.FAILURE)
    worker.run()
    failed, again = worker.rows
    assert (failed.verdict, again.slot, again.attempt) == (False, failed.slot, 2)
    assert (again.started_at, again.verdict) == (at(3 * HOUR), True)


def test_a_run_that_is_under_way_when_it_closes_ends_by_itself() -> None:
    rules = CalendarRules(only_during=NIGHTS)
    worker = Worker(
        an_endpoint(baseline=Every(HOUR), calendar_rules=rules, next_run_at=at(-MINUTE)), at(-MINUTE)
    )
    worker.run(lasting_ms=30 * MINUTE)
    assert worker.rows[0].status is RunStatus.SUCCESS
    assert worker.endpoint.next_source is Source.CLOSED


def test_at_its_end_an_endpoint_is_finished() -> None:
    rules = CalendarRules(ends_at=at(90 * MINUTE))
    worker = Worker(an_endpoint(baseline=Every(HOUR), calendar_rules=rules, next_run_at=NOW))
    worker.run()
    worker.run()
    assert [row.slot for row in worker.rows] == [NOW, at(HOUR)]
    assert (worker.endpoint.next_run_at, worker.endpoint.next_source) == (None, Source.FINISHED)
