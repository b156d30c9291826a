"""Heartbeats: when one is missing, what a signal does, and what it makes of a run."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scheduling.scheduling_fixtures import CRON, MINUTE, NOW, SECOND, a_lease, an_endpoint, at, claimed

from cadenza.domain.errors import Conflict, InvalidRequest
from cadenza.domain.monitoring.heartbeat import Signal, SignalKind, outcome_of, receive
from cadenza.domain.scheduling.baseline import Baseline, Cron, Every, Once
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import plan_next_run
from cadenza.domain.scheduling.hint import IntervalHint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Backoff, Guard, Policy
from cadenza.domain.scheduling.run import Completion, RunStatus
from cadenza.domain.scheduling.settle import settle
from cadenza.domain.scheduling.steer import run_now, take_interval_hint
from cadenza.domain.scheduling.target import HeartbeatTarget
from cadenza.domain.validation import milliseconds

GRACE = 2 * MINUTE
TEN_MINUTES = Every(10 * MINUTE)
START, SUCCESS, FAIL = SignalKind


def waiting(baseline: Baseline = TEN_MINUTES, **parts: Any) -> Endpoint:
    target = parts.pop("target", HeartbeatTarget(GRACE))
    planned = {"next_run_at": at(12 * MINUTE), "next_source": Source.BASELINE_INTERVAL}
    return an_endpoint(target=target, baseline=baseline, **(planned | parts))


def a_signal(kind: SignalKind = SUCCESS, after_ms: int = 0, body: str | None = None) -> Signal:
    return Signal(f"signal-{after_ms}", kind, at(after_ms), body)


@given(last=st.integers(0, 60 * MINUTE), grace=st.integers(1_000, 60 * MINUTE))
def test_an_interval_is_missing_its_grace_after_it_was_expected(last: int, grace: int) -> None:
    endpoint = waiting(target=HeartbeatTarget(grace), last_run_at=at(-last), guard=Guard(1, 60_000))
    plan = plan_next_run(at(0), endpoint, CRON)
    assert plan.next_run_at == max(at(10 * MINUTE - last + grace), NOW)
    assert plan.source is Source.BASELINE_INTERVAL, "no guard cuts a grace short"


@pytest.mark.parametrize(
    ("now_ms", "expected_ms"),
    [
        (1 * MINUTE, 5 * MINUTE),
        (4 * MINUTE, 5 * MINUTE),
        (5 * MINUTE - 31 * SECOND, 5 * MINUTE),
        (5 * MINUTE - 30 * SECOND, 10 * MINUTE),
        (5 * MINUTE - 1, 10 * MINUTE),
        (5 * MINUTE, 10 * MINUTE),
    ],
)
def test_a_signal_just_before_a_fire_counts_for_it(now_ms: int, expected_ms: int) -> None:
    plan = plan_next_run(at(now_ms), waiting(Cron("*/5 * * * *")), CRON)
    assert plan.next_run_at == at(expected_ms + GRACE)


def test_no_more_than_the_grace_before_it_though() -> None:
    endpoint = waiting(Cron("*/5 * * * *"), target=HeartbeatTarget(5 * SECOND))
    plans = [plan_next_run(at(5 * MINUTE - early), endpoint, CRON) for early in (6 * SECOND, 5 * SECOND)]
    assert [plan.next_run_at for plan in plans] == [at(5 * MINUTE + 5 * SECOND), at(10 * MINUTE + 5 * SECOND)]


def test_what_ends_a_run_is_due_at_once_and_says_when_it_was_expected() -> None:
    received = receive(waiting(), a_signal(SUCCESS, 11 * MINUTE))
    assert received is not None
    assert (received.endpoint.next_run_at, received.endpoint.next_source) == (
        at(11 * MINUTE),
        Source.HEARTBEAT,
    )
    assert received.signal.expected_at == at(10 * MINUTE)


def test_a_signal_during_a_run_is_recorded_right_after_it() -> None:
    running = evolve(waiting(next_run_at=NOW), lease=a_lease(NOW))
    received = receive(running, a_signal(SUCCESS, SECOND))
    assert received is not None
    held = claimed(evolve(waiting(next_run_at=NOW)))
    done = outcome_of([a_signal()], held)
    ended = settle(
        evolve(received.endpoint, lease=held.endpoint.lease),
        Completion(held, done, at(2 * SECOND)),
        now=at(2 * SECOND),
        cron=CRON,
    )
    assert ended.endpoint.next_run_at == at(2 * SECOND)


@pytest.mark.parametrize(
    "closed", [{"enabled": False}, {"job_active": False}, {"paused_until": at(MINUTE)}], ids=str
)
def test_what_is_switched_off_or_paused_takes_no_signal(closed: dict[str, Any]) -> None:
    assert receive(waiting(**closed), a_signal()) is None


def test_a_start_gives_its_run_the_time_that_its_owner_allows() -> None:
    limited = receive(waiting(target=HeartbeatTarget(GRACE, 60 * MINUTE)), a_signal(START, MINUTE))
    unlimited = receive(waiting(), a_signal(START, MINUTE))
    assert limited is not None
    assert unlimited is not None
    assert limited.endpoint.next_run_at == at(61 * MINUTE)
    assert unlimited.endpoint.next_run_at == at(12 * MINUTE)


def test_a_signal_for_another_kind_of_endpoint_is_refused() -> None:
    with pytest.raises(Conflict):
        receive(an_endpoint(), a_signal())


def test_a_success_takes_as_long_as_since_its_start() -> None:
    signal = a_signal(SUCCESS, 3 * MINUTE, "12 files")._replace(expected_at=at(MINUTE))
    outcome = outcome_of([a_signal(START, MINUTE), signal], claimed(waiting(next_run_at=NOW)))
    assert (outcome.status, outcome.duration_ms) == (RunStatus.SUCCESS, 2 * MINUTE)
    assert outcome.response == {
        "signal": "success",
        "received_at": "2025-03-30T00:58:00Z",
        "expected_at": "2025-03-30T00:56:00Z",
        "late_ms": 2 * MINUTE,
        "signals": 2,
        "body": "12 files",
    }


@pytest.mark.parametrize(
    ("signals", "status", "error"),
    [
        ([a_signal(FAIL, 0, "disk full\nmore")], RunStatus.FAILURE, "disk full"),
        ([a_signal(FAIL)], RunStatus.FAILURE, "its sender reported a failure"),
        ([a_signal(FAIL), a_signal(SUCCESS, 1)], RunStatus.SUCCESS, None),
        ([a_signal(SUCCESS), a_signal(FAIL, 1)], RunStatus.FAILURE, "its sender reported a failure"),
        ([a_signal(START, -MINUTE)], RunStatus.TIMEOUT, "has not ended"),
        ([], RunStatus.FAILURE, "no heartbeat by 2025-03-30T00:55:00Z"),
    ],
)
def test_the_last_signal_decides_and_none_is_a_failure(
    signals: list[Signal], status: RunStatus, error: str | None
) -> None:
    outcome = outcome_of(signals, claimed(waiting(next_run_at=NOW)))
    assert outcome.status is status
    assert (error is None) == (outcome.error is None)
    assert error is None or error in (outcome.error or "")


@given(at_ms=st.integers(0, 30 * MINUTE))
def test_after_every_run_it_waits_for_the_next_one(at_ms: int) -> None:
    held = claimed(waiting(next_run_at=at(at_ms)), at(at_ms))
    for outcome in (outcome_of([], held), outcome_of([a_signal(SUCCESS, at_ms)], held)):
        after = settle(held.endpoint, Completion(held, outcome, at(at_ms)), now=at(at_ms), cron=CRON).endpoint
        assert after.next_run_at == at(at_ms) + timedelta(minutes=12)


def test_hints_do_not_act_on_it_and_it_is_not_run_by_hand() -> None:
    hint = IntervalHint(MINUTE, at(60 * MINUTE))
    refused = take_interval_hint(waiting(), hint, now=NOW, cron=CRON, origin="key:1")
    assert not refused.applied
    assert refused.endpoint == waiting()
    with pytest.raises(Conflict, match="expects heartbeats"):
        run_now(waiting(), now=NOW)


@pytest.mark.parametrize(
    "parts",
    [
        {"baseline": Once(at(MINUTE))},
        {"policy": Policy(max_attempts=2)},
        {"policy": Policy(backoff=Backoff.EXPONENTIAL)},
    ],
    ids=str,
)
def test_what_means_nothing_for_heartbeats_is_refused(parts: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        waiting(**parts)


def test_a_span_that_cannot_be_kept_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        HeartbeatTarget(999)
    with pytest.raises(InvalidRequest):
        HeartbeatTarget(1_000, 0)
    assert milliseconds(HeartbeatTarget().grace_ms) == timedelta(minutes=1)
