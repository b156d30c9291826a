"""What bounds a plan: the guard, the pause; and what failures do to the baseline."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scheduling.endpoint_strategies import (
    NOTHING,
    crons,
    endpoints,
    everies,
    future,
    interval_hints,
    onces,
    past,
    repeating,
)
from tests.scheduling.scheduling_fixtures import (
    CRON,
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    Worker,
    an_endpoint,
    anchor_of,
    at,
)

from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import baseline_interval_ms, plan_next_run
from cadenza.domain.scheduling.plan import Plan, Source
from cadenza.domain.scheduling.policy import Backoff, Guard, Policy
from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.validation import milliseconds

FAR = datetime.max.replace(tzinfo=NOW.tzinfo)
EXPONENTIAL = Policy(backoff=Backoff.EXPONENTIAL)


def planned(endpoint: Endpoint, now: datetime = NOW) -> Plan:
    return plan_next_run(now, endpoint, CRON)


def bounds(endpoint: Endpoint) -> tuple[datetime, datetime]:
    """The first and the last moment that the guard allows."""
    low, high = endpoint.guard.min_interval_ms, endpoint.guard.max_interval_ms
    anchor = anchor_of(endpoint)
    return anchor + milliseconds(low or 0), FAR if high is None else anchor + milliseconds(high)


@given(endpoints(baseline=repeating(), paused_until=NOTHING))
def test_the_guard_always_holds(endpoint: Endpoint) -> None:
    soonest, latest = bounds(endpoint)
    moment = planned(endpoint).next_run_at
    assert moment is not None
    assert max(soonest, NOW) <= max(moment, NOW)
    assert soonest <= moment or endpoint.guard.min_interval_ms is None
    assert moment <= max(latest, NOW)


@given(endpoints(baseline=repeating(), paused_until=NOTHING))
def test_a_moment_outside_the_guard_moves_to_its_border_and_no_other_moves(endpoint: Endpoint) -> None:
    soonest, latest = bounds(endpoint)
    plan, free = planned(endpoint), planned(evolve(endpoint, guard=Guard()))
    assert free.next_run_at is not None
    if endpoint.guard.min_interval_ms is not None and free.next_run_at < soonest:
        assert (plan.next_run_at, plan.source) == (soonest, Source.CLAMPED_MIN)
    elif free.next_run_at > latest:
        assert (plan.next_run_at, plan.source) == (max(latest, NOW), Source.CLAMPED_MAX)
    else:
        assert plan == free
    assert plan.candidates == free.candidates


@given(endpoints(baseline=onces()))
def test_what_runs_once_is_not_clamped(endpoint: Endpoint) -> None:
    assert planned(endpoint) == planned(evolve(endpoint, guard=Guard()))


@pytest.mark.parametrize(
    ("guard", "last", "expected"),
    [
        (Guard(2 * MINUTE), NOW, (at(2 * MINUTE), Source.CLAMPED_MIN)),
        (Guard(MINUTE), NOW, (at(MINUTE), Source.BASELINE_INTERVAL)),
        (Guard(None, MINUTE - 1), NOW, (at(MINUTE - 1), Source.CLAMPED_MAX)),
        (Guard(None, MINUTE), NOW, (at(MINUTE), Source.BASELINE_INTERVAL)),
        (Guard(None, SECOND), at(-HOUR), (NOW, Source.CLAMPED_MAX)),
        (Guard(2 * HOUR, 2 * HOUR), at(-HOUR), (at(HOUR), Source.CLAMPED_MIN)),
        (Guard(2 * MINUTE), None, (at(2 * MINUTE), Source.CLAMPED_MIN)),
    ],
)
def test_the_guard_counts_from_the_last_run(
    guard: Guard, last: datetime | None, expected: tuple[datetime, Source]
) -> None:
    assert planned(an_endpoint(guard=guard, last_run_at=last))[:2] == expected


@given(endpoints(paused_until=future()))
def test_a_pause_outranks_everything(endpoint: Endpoint) -> None:
    plan = planned(endpoint)
    if plan.source is Source.FINISHED:
        return
    assert (plan.next_run_at, plan.source) == (endpoint.paused_until, Source.PAUSED)
    assert plan.candidates == planned(evolve(endpoint, paused_until=None)).candidates


@given(endpoints(paused_until=past()))
def test_a_pause_that_ends_now_or_earlier_is_over(endpoint: Endpoint) -> None:
    assert planned(endpoint) == planned(evolve(endpoint, paused_until=None))


@given(endpoints(baseline=everies(), interval_hint=NOTHING, policy=st.just(EXPONENTIAL)))
def test_backoff_doubles_the_baseline_interval_with_every_failure_up_to_five(endpoint: Endpoint) -> None:
    assert isinstance(endpoint.baseline, Every)
    stretched = endpoint.baseline.interval_ms * (1, 2, 4, 8, 16, 32, 32, 32)[endpoint.failure_count]
    relaxed = evolve(endpoint, baseline=Every(stretched), policy=Policy())
    assert baseline_interval_ms(endpoint, NOW) == stretched
    assert planned(endpoint) == planned(relaxed)


@given(endpoints(policy=st.just(Policy())), st.integers(0, 7))
def test_without_backoff_failures_change_nothing(endpoint: Endpoint, failures: int) -> None:
    assert planned(endpoint) == planned(evolve(endpoint, failure_count=failures))


@given(endpoints(baseline=crons(), policy=st.just(EXPONENTIAL)), st.integers(0, 7))
def test_cron_ignores_backoff(endpoint: Endpoint, failures: int) -> None:
    assert planned(endpoint) == planned(evolve(endpoint, failure_count=failures))
    assert baseline_interval_ms(endpoint, NOW) is None


@given(
    endpoints(
        baseline=everies(),
        policy=st.just(EXPONENTIAL),
        interval_hint=interval_hints(st.just(at(24 * HOUR))),
        one_shot_hint=NOTHING,
        hint_mode=st.just("override"),
    ),
    st.integers(0, 7),
)
def test_hints_ignore_backoff(endpoint: Endpoint, failures: int) -> None:
    assert planned(endpoint)[:2] == planned(evolve(endpoint, failure_count=failures))[:2]


def test_backoff_counts_this_outcome_and_is_gone_with_the_first_success() -> None:
    worker = Worker(an_endpoint(policy=EXPONENTIAL, next_run_at=NOW))
    gaps = []
    for status in [*[RunStatus.FAILURE] * 7, RunStatus.SUCCESS, RunStatus.TIMEOUT]:
        worker.run(status)
        assert worker.endpoint.next_run_at is not None
        gaps.append((worker.endpoint.next_run_at - worker.now) // milliseconds(MINUTE))
    assert gaps == [2, 4, 8, 16, 32, 32, 32, 1, 2]
