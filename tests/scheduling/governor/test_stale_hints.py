"""What remains of hints as time goes on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scheduling.endpoint_strategies import (
    NOTHING,
    future,
    interval_hints,
    one_shots,
    past,
    repeating,
    stored,
)
from tests.scheduling.scheduling_fixtures import (
    CRON,
    DAY,
    HOUR,
    MINUTE,
    NOW,
    ORIGIN,
    SECOND,
    Worker,
    an_endpoint,
    at,
    verdicts,
)

from cadenza.domain.scheduling.abandon import tidy
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import plan_next_run
from cadenza.domain.scheduling.hint import IntervalHint, OneShotHint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import RunStatus, SkippedSlot
from cadenza.domain.scheduling.steer import take_one_shot, without_stale_hints

EXPIRED_ONE_SHOT = one_shots(past() | future(), past())
REASON = "the one-shot hint expired unserved"


@given(stored(interval_hint=NOTHING | interval_hints(future()), one_shot_hint=NOTHING))
def test_what_is_fresh_stays(endpoint: Endpoint) -> None:
    assert without_stale_hints(endpoint, NOW) == (endpoint, ())


def test_a_run_that_lies_ahead_since_the_clock_was_set_back_serves_no_one_shot() -> None:
    hint = OneShotHint(at(MINUTE), at(HOUR))
    endpoint = an_endpoint(baseline=Every(DAY), last_run_at=at(2 * MINUTE), one_shot_hint=hint)
    assert without_stale_hints(endpoint, NOW) == (endpoint, ())
    assert plan_next_run(NOW, endpoint, CRON).next_run_at == hint.at


@given(stored(interval_hint=interval_hints(past()), one_shot_hint=NOTHING, baseline=repeating()))
def test_an_expired_interval_hint_is_cleared_and_leaves_no_row(endpoint: Endpoint) -> None:
    assert without_stale_hints(endpoint, NOW) == (evolve(endpoint, interval_hint=None), ())


@given(stored(last_run_at=NOTHING, one_shot_hint=one_shots(past() | future(), future())))
def test_a_fresh_one_shot_that_nobody_served_stays(endpoint: Endpoint) -> None:
    tidied, passed = without_stale_hints(endpoint, NOW)
    assert tidied.one_shot_hint == endpoint.one_shot_hint
    assert passed == ()


@given(stored(last_run_at=st.just(NOW), one_shot_hint=one_shots(past(), past() | future())))
def test_a_served_one_shot_is_cleared_without_a_row(endpoint: Endpoint) -> None:
    tidied, passed = without_stale_hints(endpoint, NOW)
    assert (tidied.one_shot_hint, passed) == (None, ())


@given(
    stored(
        last_run_at=NOTHING,
        one_shot_hint=EXPIRED_ONE_SHOT,
        next_run_at=NOTHING | future(),
        lease=NOTHING,
        open_slot=NOTHING,
    )
)
def test_an_expired_one_shot_leaves_exactly_one_skipped_slot(endpoint: Endpoint) -> None:
    hint = endpoint.one_shot_hint
    assert hint is not None
    tidied, passed = without_stale_hints(endpoint, NOW)
    assert passed == (SkippedSlot(hint.at, Source.AI_ONESHOT, REASON, NOW),)
    assert tidied.one_shot_hint is None
    assert without_stale_hints(tidied, NOW) == (tidied, ())


def test_a_one_shot_expires_at_its_expiry_and_not_before() -> None:
    endpoint = an_endpoint(one_shot_hint=OneShotHint(at(-MINUTE), NOW), next_run_at=at(HOUR))
    assert len(tidy(endpoint, now=NOW).skipped) == 1
    assert tidy(endpoint, now=at(-1)).skipped == ()
    assert tidy(endpoint, now=at(-1)).endpoint == endpoint


def test_an_interval_hint_expires_at_its_expiry_and_not_before() -> None:
    endpoint = an_endpoint(interval_hint=IntervalHint(MINUTE, NOW))
    assert tidy(endpoint, now=NOW).endpoint.interval_hint is None
    assert tidy(endpoint, now=at(-1)).endpoint.interval_hint == endpoint.interval_hint


@pytest.mark.parametrize("offset_ms", [0, -1, -HOUR])
def test_a_due_slot_that_will_serve_an_expired_one_shot_speaks_for_it(offset_ms: int) -> None:
    hint = OneShotHint(at(-HOUR), at(-MINUTE))
    endpoint = an_endpoint(one_shot_hint=hint, next_run_at=at(offset_ms))
    assert tidy(endpoint, now=NOW).skipped == ()
    assert tidy(endpoint, now=NOW).endpoint.one_shot_hint is None


def test_expired_hints_are_cleared_when_the_next_run_settles() -> None:
    hints = {"interval_hint": IntervalHint(HOUR, at(SECOND)), "one_shot_hint": OneShotHint(at(1), at(SECOND))}
    worker = Worker(an_endpoint(baseline=Every(MINUTE), next_run_at=NOW, **hints))
    worker.claim()
    worker.wait(SECOND)
    worker.end(RunStatus.SUCCESS)
    assert (worker.endpoint.interval_hint, worker.endpoint.one_shot_hint) == (None, None)
    assert [(row.slot, row.status) for row in worker.rows] == [
        (NOW, RunStatus.SUCCESS),
        (at(1), RunStatus.SKIPPED),
    ]


def with_one_shot(moment_ms: int, ttl_ms: int = HOUR) -> Worker:
    worker = Worker(an_endpoint(baseline=Every(24 * HOUR), last_run_at=at(-1), next_run_at=at(24 * HOUR)))
    hint = OneShotHint(at(moment_ms), at(moment_ms + ttl_ms))
    worker.amend(take_one_shot(worker.endpoint, hint, now=NOW, cron=CRON, origin=ORIGIN))
    return worker


def expire(worker: Worker) -> None:
    worker.wait(2 * HOUR)
    worker.amend(tidy(worker.endpoint, now=worker.now))


def test_a_one_shot_that_was_skipped_for_its_quota_gets_no_second_verdict_when_it_expires() -> None:
    worker = with_one_shot(MINUTE)
    worker.wait(MINUTE)
    worker.claim()
    worker.end(RunStatus.SKIPPED, opens_at=at(6 * HOUR))
    expire(worker)
    assert verdicts(worker.rows) == {at(MINUTE): 1}


def test_a_one_shot_whose_claim_was_cancelled_by_a_pause_gets_no_second_verdict_when_it_expires() -> None:
    worker = with_one_shot(MINUTE)
    worker.wait(MINUTE - SECOND)
    worker.claim(within_ms=2 * SECOND)
    worker.pause(6 * HOUR)
    worker.start()
    expire(worker)
    assert verdicts(worker.rows) == {at(MINUTE): 1}


@pytest.mark.parametrize("status", [RunStatus.CANCELLED, RunStatus.ABANDONED])
def test_a_one_shot_that_expires_while_its_claim_is_held_is_told_by_the_claim(status: RunStatus) -> None:
    worker = with_one_shot(MINUTE)
    worker.wait(MINUTE - SECOND)
    worker.claim(within_ms=2 * SECOND)
    worker.pause(2 * HOUR)
    worker.wait(2 * HOUR - SECOND)
    worker.end(status)
    worker.run()
    assert verdicts(worker.rows)[at(MINUTE)] == 1


def test_a_one_shot_whose_claim_was_given_back_before_its_moment_is_told_when_it_expires() -> None:
    worker = with_one_shot(MINUTE)
    worker.wait(MINUTE - SECOND)
    worker.claim(within_ms=2 * SECOND)
    worker.pause(6 * HOUR)
    worker.end(RunStatus.CANCELLED)
    expire(worker)
    assert verdicts(worker.rows) == {at(MINUTE): 1}


def test_a_one_shot_that_expires_while_its_slot_waits_for_another_worker_is_told_by_the_slot() -> None:
    worker = with_one_shot(MINUTE)
    worker.wait(MINUTE - SECOND)
    worker.claim(within_ms=2 * SECOND)
    worker.pause(6 * HOUR)
    worker.wait(MINUTE)
    worker.end(RunStatus.ABANDONED)
    expire(worker)
    worker.run()
    assert verdicts(worker.rows) == {at(MINUTE): 1}


def test_a_one_shot_that_was_paused_before_it_could_start_gets_one_verdict() -> None:
    worker = with_one_shot(MINUTE)
    worker.wait(MINUTE)
    worker.pause(6 * HOUR)
    expire(worker)
    assert verdicts(worker.rows) == {at(MINUTE): 1}


def test_a_one_shot_paused_before_it_could_start_leaves_its_slot_as_skipped_though_it_is_served_later() -> (
    None
):
    worker = with_one_shot(MINUTE)
    worker.wait(MINUTE)
    worker.pause(10 * MINUTE)
    worker.run()
    assert verdicts(worker.rows) == {at(MINUTE): 1, at(11 * MINUTE): 1}
    expire(worker)
    assert verdicts(worker.rows) == {at(MINUTE): 1, at(11 * MINUTE): 1}


def test_a_one_shot_that_passed_while_an_earlier_slot_came_too_late_is_skipped_with_it() -> None:
    hint = OneShotHint(at(MINUTE), at(HOUR))
    worker = Worker(an_endpoint(baseline=Every(24 * HOUR), next_run_at=NOW, one_shot_hint=hint))
    worker.wait(30 * MINUTE)
    worker.claim()
    worker.end(RunStatus.SKIPPED, reason="too late")
    assert worker.endpoint.next_run_at == worker.now + (at(24 * HOUR) - NOW)


def test_a_one_shot_that_came_too_late_is_skipped_and_does_not_come_back() -> None:
    worker = with_one_shot(MINUTE)
    worker.wait(30 * MINUTE)
    worker.claim()
    worker.end(RunStatus.SKIPPED, reason="too late")
    assert worker.endpoint.next_run_at == worker.now + (at(24 * HOUR) - NOW)
    expire(worker)
    assert verdicts(worker.rows) == {at(MINUTE): 1}
