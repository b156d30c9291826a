"""A one-shot hint: it competes, the earliest wins, and it fires once."""

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scheduling.endpoint_strategies import (
    NO_GUARD,
    NOTHING,
    endpoints,
    future,
    one_shots,
    past,
    repeating,
)
from tests.scheduling.scheduling_fixtures import (
    CRON,
    HOUR,
    MINUTE,
    NOW,
    ORIGIN,
    SECOND,
    Worker,
    an_endpoint,
    at,
)

from cadenza.domain.scheduling.baseline import Cron, Every, Once
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import plan_next_run
from cadenza.domain.scheduling.hint import HintMode, IntervalHint, OneShotHint
from cadenza.domain.scheduling.plan import Plan, Source
from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.steer import take_one_shot

UNBOUND: dict[str, st.SearchStrategy[Any]] = {"guard": NO_GUARD, "paused_until": NOTHING}


def planned(endpoint: Endpoint, now: datetime = NOW) -> Plan:
    return plan_next_run(now, endpoint, CRON)


def without_one_shot(endpoint: Endpoint) -> Endpoint:
    return evolve(endpoint, one_shot_hint=None)


@given(
    endpoints(
        **UNBOUND,
        baseline=repeating(),
        last_run_at=NOTHING,
        one_shot_hint=one_shots(past() | future(), future()),
    )
)
def test_the_earliest_wins(endpoint: Endpoint) -> None:
    hint, regular, plan = endpoint.one_shot_hint, planned(without_one_shot(endpoint)), planned(endpoint)
    assert hint is not None
    standing = [c.at for c in regular.candidates if c.source is regular.source]
    if hint.at < standing[0]:
        assert (plan.next_run_at, plan.source) == (max(hint.at, NOW), Source.AI_ONESHOT)
    else:
        assert (plan.next_run_at, plan.source) == (regular.next_run_at, regular.source)
    assert plan.candidates == (*regular.candidates, (hint.at, Source.AI_ONESHOT))


@given(endpoints(one_shot_hint=one_shots(past() | future(), past())))
def test_a_one_shot_that_expires_now_or_earlier_counts_for_nothing(endpoint: Endpoint) -> None:
    assert planned(endpoint) == planned(without_one_shot(endpoint))


@given(
    endpoints(last_run_at=past(), one_shot_hint=one_shots(past(), future()) | one_shots(future(), future()))
)
def test_a_one_shot_whose_moment_the_last_run_reached_is_consumed(endpoint: Endpoint) -> None:
    hint, last = endpoint.one_shot_hint, endpoint.last_run_at
    assert last is not None
    weighed = Source.AI_ONESHOT in {candidate.source for candidate in planned(endpoint).candidates}
    assert weighed == (hint is not None and hint.expires_at > NOW and hint.at > last)


@given(endpoints(one_shot_hint=one_shots(past(), future()), last_run_at=NOTHING))
def test_a_one_shot_of_an_endpoint_that_never_ran_is_not_consumed(endpoint: Endpoint) -> None:
    assert Source.AI_ONESHOT in {candidate.source for candidate in planned(endpoint).candidates}


@given(endpoints())
def test_a_one_shot_never_delays(endpoint: Endpoint) -> None:
    hinted, bare = planned(endpoint).next_run_at, planned(without_one_shot(endpoint)).next_run_at
    assert bare is None or (hinted is not None and hinted <= bare)


@pytest.mark.parametrize(
    ("parts", "winner"),
    [
        ({"baseline": Every(MINUTE)}, Source.BASELINE_INTERVAL),
        ({"baseline": Cron("*/1 * * * *")}, Source.BASELINE_CRON),
        ({"baseline": Once(at(MINUTE))}, Source.BASELINE_ONCE),
        ({"interval_hint": IntervalHint(MINUTE, at(HOUR))}, Source.AI_INTERVAL),
        (
            {"interval_hint": IntervalHint(MINUTE, at(HOUR)), "hint_mode": HintMode.TIGHTEN},
            Source.BASELINE_INTERVAL,
        ),
        (
            {
                "interval_hint": IntervalHint(MINUTE, at(HOUR)),
                "hint_mode": HintMode.TIGHTEN,
                "baseline": Every(HOUR),
            },
            Source.AI_INTERVAL,
        ),
        ({"baseline": Every(MINUTE + 1)}, Source.AI_ONESHOT),
    ],
)
def test_ties_go_to_the_baseline_then_to_the_interval(parts: dict[str, Any], winner: Source) -> None:
    endpoint = an_endpoint(one_shot_hint=OneShotHint(at(MINUTE), at(HOUR)), **parts)
    assert planned(endpoint)[:2] == (at(MINUTE), winner)


@given(
    st.integers(20 * SECOND, HOUR),
    st.integers(0, 10 * MINUTE) | st.sampled_from((0, 1, 20 * SECOND, MINUTE)),
    st.integers(0, 5 * MINUTE),
    st.sampled_from((RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.TIMEOUT)),
)
def test_a_one_shot_fires_once(interval_ms: int, moment_ms: int, lasting_ms: int, status: RunStatus) -> None:
    hint = OneShotHint(at(moment_ms), at(moment_ms + 10 * MINUTE))
    worker = Worker(an_endpoint(baseline=Every(interval_ms), last_run_at=at(-1), next_run_at=at(interval_ms)))
    worker.amend(take_one_shot(worker.endpoint, hint, now=NOW, cron=CRON, origin=ORIGIN))
    while worker.endpoint.next_run_at is not None and worker.endpoint.next_run_at <= hint.expires_at:
        worker.run(status, lasting_ms)
    starts = [row.started_at for row in worker.rows if row.started_at is not None]
    assert sum(row.source is Source.AI_ONESHOT for row in worker.rows) <= 1
    assert hint.at <= min(start for start in starts if start >= hint.at) <= at(moment_ms + lasting_ms)
    assert worker.endpoint.one_shot_hint is None


def test_a_one_shot_adds_one_run_to_the_baseline_s_and_is_its_cause() -> None:
    worker = Worker(an_endpoint(baseline=Every(HOUR), last_run_at=NOW, next_run_at=at(HOUR)))
    hint = OneShotHint(at(MINUTE), at(2 * HOUR))
    worker.amend(take_one_shot(worker.endpoint, hint, now=NOW, cron=CRON, origin=ORIGIN))
    for _ in range(3):
        worker.run()
    assert [(row.started_at, row.source) for row in worker.rows] == [
        (at(MINUTE), Source.AI_ONESHOT),
        (at(MINUTE + HOUR), Source.BASELINE_INTERVAL),
        (at(MINUTE + 2 * HOUR), Source.BASELINE_INTERVAL),
    ]


def test_a_one_shot_written_during_a_run_is_served_after_it() -> None:
    worker = Worker(an_endpoint(baseline=Every(HOUR), next_run_at=NOW))
    worker.claim()
    worker.wait(SECOND)
    hint = OneShotHint(worker.now, at(HOUR))
    worker.amend(take_one_shot(worker.endpoint, hint, now=worker.now, cron=CRON, origin=ORIGIN))
    worker.wait(SECOND)
    worker.end(RunStatus.SUCCESS)
    assert (worker.endpoint.next_run_at, worker.endpoint.next_source) == (worker.now, Source.AI_ONESHOT)
