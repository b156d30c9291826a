"""A slot that is not over: retries, quota, lost workers, claims given back."""

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scheduling.endpoint_strategies import spans
from tests.scheduling.scheduling_fixtures import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    Worker,
    an_endpoint,
    at,
    claimed,
    ended,
    settled,
)

from cadenza.domain.scheduling.baseline import Cron, Every, Once
from cadenza.domain.scheduling.endpoint import OpenSlot, evolve
from cadenza.domain.scheduling.hint import OneShotHint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Guard, Policy
from cadenza.domain.scheduling.run import Outcome, RunStatus

THRICE = Policy(max_attempts=3, retry_delay_ms=10 * SECOND)
FAILED = (RunStatus.FAILURE, RunStatus.TIMEOUT)


def retrying(**parts: Any) -> Worker:
    return Worker(an_endpoint(**{"baseline": Every(HOUR), "next_run_at": NOW, "policy": THRICE, **parts}))


@given(st.integers(1, 5), st.sampled_from(FAILED), st.integers(0, SECOND))
def test_retries_keep_slot_and_key_and_count_attempts(
    attempts: int, status: RunStatus, lasting_ms: int
) -> None:
    worker = retrying(policy=Policy(max_attempts=attempts), next_source=Source.BASELINE_INTERVAL)
    for _ in range(attempts):
        worker.run(status, lasting_ms)
    assert [row.attempt for row in worker.rows] == list(range(1, attempts + 1))
    assert {row.slot for row in worker.rows} == {NOW}
    assert [row.verdict for row in worker.rows] == [False] * (attempts - 1) + [True]
    assert [row.source for row in worker.rows[1:]] == [Source.RETRY] * (attempts - 1)
    assert worker.endpoint.open_slot is None


def test_attempts_of_one_slot_share_their_idempotency_key() -> None:
    worker, keys = retrying(), set()
    for _ in range(3):
        worker.now = worker.endpoint.next_run_at or NOW
        worker.claim()
        assert worker.held is not None
        keys.add(worker.held.idempotency_key)
        worker.end(RunStatus.FAILURE)
    assert keys == {"default:ep-1:2025-03-30T00:55:00Z"}


def test_a_retry_comes_after_its_delay_and_the_regular_run_after_the_last_attempt() -> None:
    worker = retrying()
    worker.run(RunStatus.FAILURE, SECOND)
    assert (worker.endpoint.next_run_at, worker.endpoint.next_source) == (at(11 * SECOND), Source.RETRY)
    assert worker.endpoint.open_slot == OpenSlot(NOW, 1)
    worker.run(RunStatus.SUCCESS)
    assert worker.endpoint.next_run_at == at(HOUR + 11 * SECOND)
    assert [row.verdict for row in worker.rows] == [False, True]


@pytest.mark.parametrize(("least_ms", "expected_ms"), [(10 * SECOND, 11 * SECOND), (MINUTE, MINUTE)])
def test_a_retry_keeps_the_guard(least_ms: int, expected_ms: int) -> None:
    worker = retrying(guard=Guard(least_ms))
    worker.run(RunStatus.FAILURE, SECOND)
    assert worker.endpoint.next_run_at == at(expected_ms)


@pytest.mark.parametrize(("interval_ms", "retried"), [(10 * SECOND, False), (10 * SECOND + 1, True)])
def test_a_retry_gives_way_to_a_regular_run_that_is_not_later(interval_ms: int, *, retried: bool) -> None:
    worker = retrying(baseline=Every(interval_ms))
    worker.run(RunStatus.FAILURE)
    assert (worker.endpoint.open_slot is not None) is retried
    assert worker.rows[0].verdict is not retried


def test_what_runs_once_finishes_only_after_its_final_verdict() -> None:
    worker = retrying(baseline=Once(NOW))
    for _ in range(2):
        worker.run(RunStatus.FAILURE)
        assert worker.endpoint.next_run_at is not None
    worker.run(RunStatus.FAILURE)
    assert (worker.endpoint.next_run_at, worker.endpoint.next_source) == (None, Source.FINISHED)


def test_a_retry_waits_for_the_end_of_a_pause() -> None:
    held = claimed(retrying().endpoint)
    paused = evolve(held.endpoint, paused_until=at(30 * MINUTE))
    after = settled(paused, held, Outcome(RunStatus.FAILURE), now=at(SECOND)).endpoint
    assert (after.next_run_at, after.next_source) == (at(30 * MINUTE), Source.PAUSED)
    assert after.open_slot == OpenSlot(NOW, 1)


@pytest.mark.parametrize(("pause_ms", "expected"), [(MINUTE, Source.RETRY), (MINUTE + 1, Source.PAUSED)])
def test_an_open_slot_waits_for_the_later_of_guard_and_pause(pause_ms: int, expected: Source) -> None:
    held = claimed(retrying(guard=Guard(MINUTE)).endpoint)
    paused = evolve(held.endpoint, paused_until=at(pause_ms))
    after = settled(paused, held, Outcome(RunStatus.ABANDONED), now=at(SECOND)).endpoint
    assert (after.next_run_at, after.next_source) == (at(pause_ms), expected)


@pytest.mark.parametrize("status", [RunStatus.ABANDONED, RunStatus.CANCELLED])
def test_the_slot_of_a_lost_or_stopped_run_stays_due_but_not_before_the_guard(status: RunStatus) -> None:
    after = ended(claimed(an_endpoint(next_run_at=at(-SECOND))), status, now=at(MINUTE))
    assert (after.endpoint.next_run_at, after.endpoint.next_source) == (at(-SECOND), Source.RETRY)
    assert after.endpoint.open_slot == OpenSlot(at(-SECOND), 1)
    assert not after.run.verdict
    guarded = ended(claimed(an_endpoint(next_run_at=at(-SECOND), guard=Guard(HOUR))), status, now=at(MINUTE))
    assert guarded.endpoint.next_run_at == at(HOUR)


@pytest.mark.parametrize(("now", "kept"), [(NOW, None), (at(SECOND), OpenSlot(at(SECOND), 1))])
def test_a_claim_that_was_lost_before_it_started_keeps_its_moment(
    now: datetime, kept: OpenSlot | None
) -> None:
    planned = an_endpoint(baseline=Once(at(SECOND)), next_run_at=at(SECOND), next_source=Source.BASELINE_ONCE)
    after = ended(claimed(planned), RunStatus.ABANDONED, now=now)
    assert (after.endpoint.next_run_at, after.endpoint.next_source) == (at(SECOND), Source.BASELINE_ONCE)
    assert (after.endpoint.open_slot, after.run.verdict) == (kept, False)


def test_a_retry_that_was_lost_before_it_started_is_due_at_its_own_moment() -> None:
    waiting = an_endpoint(next_run_at=at(SECOND), open_slot=OpenSlot(NOW, 1), next_source=Source.RETRY)
    after = ended(claimed(waiting), RunStatus.ABANDONED, now=at(MINUTE)).endpoint
    assert (after.next_run_at, after.open_slot) == (at(SECOND), OpenSlot(NOW, 2))


def test_a_claim_that_was_moved_and_lost_before_it_started_is_due_at_its_own_moment() -> None:
    ahead = claimed(an_endpoint(next_run_at=at(SECOND), guard=Guard(HOUR), last_run_at=at(SECOND - HOUR)))
    moved = evolve(ahead.endpoint, next_run_at=at(HOUR))
    after = settled(moved, ahead, Outcome(RunStatus.ABANDONED), now=at(MINUTE)).endpoint
    assert (after.next_run_at, after.open_slot) == (at(SECOND), OpenSlot(at(SECOND), 1))


@pytest.mark.parametrize(
    ("moved", "now", "over"),
    [(MINUTE, 0, False), (MINUTE, SECOND - 1, False), (MINUTE, SECOND, True), (SECOND, SECOND, False)],
)
def test_a_claim_given_back_ends_its_slot_only_if_it_came_due_and_was_moved(
    moved: int, now: int, *, over: bool
) -> None:
    ahead = claimed(an_endpoint(next_run_at=at(SECOND)))
    standing = evolve(ahead.endpoint, next_run_at=at(moved))
    after = settled(standing, ahead, Outcome(RunStatus.CANCELLED), now=at(now))
    assert after.run.verdict is over
    assert after.endpoint.next_run_at == at(moved)


def test_what_the_quota_refuses_is_skipped_and_planned_for_when_it_opens() -> None:
    after = ended(claimed(an_endpoint(next_run_at=NOW)), RunStatus.SKIPPED, now=at(1), opens_at=at(HOUR))
    assert (after.endpoint.next_run_at, after.endpoint.next_source) == (at(HOUR), Source.QUOTA)
    assert after.endpoint.quota_opens_at == at(HOUR)
    assert (after.endpoint.last_run_at, after.endpoint.skipped_at) == (None, None)
    assert after.run.verdict


@given(spans(), spans())
def test_a_quota_that_opens_during_a_pause_waits_for_its_end(opens_ms: int, pause_ms: int) -> None:
    held = claimed(an_endpoint(next_run_at=NOW))
    paused = evolve(held.endpoint, paused_until=at(pause_ms + 1))
    refused = Outcome(RunStatus.SKIPPED, opens_at=at(opens_ms))
    after = settled(paused, held, refused, now=at(1)).endpoint
    assert after.next_run_at == at(max(opens_ms, pause_ms + 1))


def test_a_retry_that_the_quota_refuses_goes_on_waiting_with_its_slot() -> None:
    worker = retrying()
    worker.run(RunStatus.FAILURE)
    worker.now = worker.endpoint.next_run_at or NOW
    worker.claim()
    worker.end(RunStatus.SKIPPED, opens_at=at(30 * MINUTE))
    assert worker.endpoint.open_slot == OpenSlot(NOW, 1)
    assert not worker.rows[-1].verdict
    worker.run()
    assert (worker.rows[-1].slot, worker.rows[-1].attempt, worker.rows[-1].verdict) == (NOW, 2, True)


def test_missed_slots_are_told_once_even_if_the_quota_refuses_the_run_that_tells_them() -> None:
    worker = Worker(an_endpoint(next_run_at=NOW))
    worker.run(lasting_ms=3 * MINUTE)
    worker.claim()
    worker.end(RunStatus.SKIPPED, opens_at=at(HOUR))
    worker.run()
    assert [row.coalesced for row in worker.rows] == [0, 2, 0]


def test_missed_slots_are_told_once_and_not_again_by_a_retry() -> None:
    worker = Worker(an_endpoint(next_run_at=NOW, policy=THRICE))
    worker.run(lasting_ms=3 * MINUTE)
    worker.run(RunStatus.FAILURE)
    worker.run()
    assert [(row.attempt, row.coalesced) for row in worker.rows] == [(1, 0), (1, 2), (2, 0)]


def test_a_one_shot_is_served_by_the_retries_of_its_slot() -> None:
    worker = retrying(baseline=Cron("*/30 * * * *"), one_shot_hint=OneShotHint(NOW, at(DAY)))
    worker.run(RunStatus.FAILURE)
    assert worker.endpoint.one_shot_hint is None
    assert worker.endpoint.open_slot == OpenSlot(NOW, 1)
