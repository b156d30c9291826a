"""The first moment of an endpoint, and what the sweeper finds when nobody comes back."""

from typing import Any

import pytest
from hypothesis import given
from tests.scheduling.endpoint_strategies import NOTHING, endpoints, past, stored
from tests.scheduling.scheduling_fixtures import (
    CRON,
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    a_lease,
    an_endpoint,
    at,
    claimed,
)

from cadenza.domain.scheduling.abandon import abandonment, sweep_at
from cadenza.domain.scheduling.baseline import Cron, Every, Once
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import plan_next_run
from cadenza.domain.scheduling.hint import IntervalHint, OneShotHint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Completion, Outcome, ProcessDeath, RunStatus, open_run
from cadenza.domain.scheduling.steer import DEFINITION_FIELDS, ChangedEndpoint, plan_first_run, redefine


@given(endpoints())
def test_a_new_endpoint_starts_with_the_plan(endpoint: Endpoint) -> None:
    plan = plan_next_run(NOW, endpoint, CRON)
    expected = evolve(endpoint, next_run_at=plan.next_run_at, next_source=plan.source)
    assert plan_first_run(endpoint, now=NOW, cron=CRON) == expected


@given(endpoints(paused_until=NOTHING | past(), last_run_at=NOTHING, skipped_at=NOTHING))
def test_start_now_makes_it_due_at_once(endpoint: Endpoint) -> None:
    first = plan_first_run(evolve(endpoint, next_source=Source.MANUAL), now=NOW, cron=CRON, start_now=True)
    assert (first.next_run_at, first.next_source) == (NOW, Source.FIRST)


def test_start_now_waits_for_the_end_of_a_pause() -> None:
    first = plan_first_run(an_endpoint(paused_until=at(HOUR)), now=NOW, cron=CRON, start_now=True)
    assert (first.next_run_at, first.next_source) == (at(HOUR), Source.PAUSED)


@given(stored(), endpoints())
def test_a_new_definition_leaves_alone_where_the_endpoint_stands(
    endpoint: Endpoint, wanted: Endpoint
) -> None:
    amended = redefine(endpoint, wanted, now=NOW, cron=CRON).endpoint
    for field in (
        "last_run_at",
        "skipped_at",
        "failure_count",
        "lease",
        "open_slot",
        "paused_until",
        "one_shot_hint",
    ):
        assert getattr(amended, field) == getattr(endpoint, field)
    for field in DEFINITION_FIELDS:
        assert getattr(amended, field) == getattr(wanted, field)


def test_a_new_baseline_is_planned_at_once_and_the_same_one_changes_nothing() -> None:
    endpoint = an_endpoint(last_run_at=NOW, next_run_at=at(SECOND), next_source=Source.MANUAL)
    assert redefine(endpoint, an_endpoint(), now=NOW, cron=CRON) == ChangedEndpoint(endpoint)
    hourly = redefine(endpoint, an_endpoint(baseline=Every(HOUR)), now=NOW, cron=CRON).endpoint
    assert (hourly.next_run_at, hourly.next_source) == (at(HOUR), Source.BASELINE_INTERVAL)
    by_cron = redefine(endpoint, an_endpoint(baseline=Cron("*/5 * * * *")), now=NOW, cron=CRON).endpoint
    assert (by_cron.next_run_at, by_cron.next_source) == (at(5 * MINUTE), Source.BASELINE_CRON)


def test_what_is_to_run_once_from_now_on_keeps_no_interval_hint() -> None:
    hinted = an_endpoint(interval_hint=IntervalHint(MINUTE, at(HOUR)), next_run_at=at(MINUTE))
    once = redefine(hinted, an_endpoint(baseline=Once(at(2 * HOUR))), now=NOW, cron=CRON).endpoint
    assert once.interval_hint is None
    assert (once.next_run_at, once.next_source) == (at(2 * HOUR), Source.BASELINE_ONCE)


HINT = OneShotHint(at(MINUTE), at(HOUR))
ALONE = ProcessDeath(in_flight=1, suspects=0)


@pytest.mark.parametrize(
    ("standing", "expected"),
    [
        ({}, None),
        ({"lease": a_lease(NOW), "one_shot_hint": HINT}, at(MINUTE)),
        ({"one_shot_hint": HINT, "next_run_at": at(HOUR)}, None),
        ({"one_shot_hint": HINT, "next_run_at": at(HOUR + 1)}, at(HOUR)),
        ({"one_shot_hint": HINT, "next_run_at": None}, at(HOUR)),
    ],
)
def test_the_sweeper_comes_when_a_lease_or_a_one_shot_that_nobody_will_serve_runs_out(
    standing: dict[str, Any], expected: object
) -> None:
    assert sweep_at(an_endpoint(**standing)) == expected


@pytest.mark.parametrize("ahead_ms", [0, SECOND])
def test_a_run_is_abandoned_by_its_row_as_it_would_be_by_its_claim(ahead_ms: int) -> None:
    held = claimed(an_endpoint(next_run_at=at(ahead_ms), next_source=Source.MANUAL))
    outcome = Outcome(RunStatus.ABANDONED, error="its worker let the lease run out", death=ALONE)
    assert abandonment(held.endpoint, open_run(held), ALONE, at(MINUTE)) == Completion(
        held, outcome, at(MINUTE)
    )
    with pytest.raises(AssertionError, match=r"^only a lease can run out"):
        abandonment(an_endpoint(), open_run(held), ALONE, at(MINUTE))
