"""The price of a run: it moves until the runs spent are the runs allowed."""

from collections.abc import Iterator
from heapq import heapify, heapreplace
from math import exp, isclose
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as some

from cadenza.domain.planning.learning.learner import Period, learn
from cadenza.domain.planning.learning.proposal import Bounds, decide
from cadenza.domain.planning.learning.run_price import LARGEST_STEP, MOST_LOG_PRICE, RunPrice
from cadenza.domain.planning.learning.state import EndpointModel, Observation, SharedModel

PERIOD_S = 60.0
QUIET_PERIOD_S = 300.0
"""Longer, so that there are days and not only hours to be unlike each other."""


def spent(
    allowance: float, *, endpoints: int = 20, periods: int = 1_500, jump: float = 1.0
) -> tuple[float, RunPrice]:
    """Runs per beat in the second half, where an interval grows with the square root of the price.

    Halfway everything becomes so many times more worth.
    """
    chance, run_price = Random(5), RunPrice()
    due = [(chance.random(), number, 1.0) for number in range(endpoints)]
    runs = 0
    while True:
        at, number, waited = min(due)
        if at > periods:
            return runs / endpoints / (periods / 2), run_price
        runs += at > periods / 2
        run_price = run_price.after_run(
            at * PERIOD_S, waited, period_s=PERIOD_S, spent=1.0, allowance=allowance
        )
        value = (jump if at > periods / 2 else 1.0) * (0.2 + number / endpoints)
        wait = min(max(exp(run_price.log_price / 2) / value**0.5, 0.1), 10.0)
        run_price = run_price.after_proposal(wait, allowance)
        due[number] = (at + wait, number, wait)


def runs_where_nothing_changes(*, endpoints: int, periods: int) -> Iterator[float]:
    """When endpoints that never change run under the learner, in periods."""
    shared, chance = SharedModel(), Random(6)
    due = [(chance.random(), number, EndpointModel()) for number in range(endpoints)]
    heapify(due)
    period = Period(QUIET_PERIOD_S)
    while due[0][0] < periods:
        at, number, model = due[0]
        yield at
        model, shared = learn(model, Observation(at * QUIET_PERIOD_S), shared=shared, period=period)
        model, shared, proposal = decide(
            model, shared, period=period, at_s=at * QUIET_PERIOD_S, bounds=Bounds()
        )
        heapreplace(due, (at + proposal.periods, number, model))


@pytest.mark.parametrize("allowance", [0.5, 1.0, 3.0])
def test_the_spend_meets_the_allowance(allowance: float) -> None:
    assert spent(allowance)[0] == pytest.approx(allowance, rel=0.03)


def test_when_everything_becomes_more_urgent_the_price_rises_and_the_spend_stays() -> None:
    runs, run_price = spent(1.0, jump=6.0)
    assert runs == pytest.approx(1.0, rel=0.06)
    assert run_price.price > 3 * spent(1.0)[1].price


def test_a_single_endpoint_spends_its_allowance_too() -> None:
    assert spent(1.0, endpoints=1)[0] == pytest.approx(1.0, rel=0.05)


def test_where_nothing_changes_and_looks_are_worth_ever_less_the_spend_meets_the_allowance_too() -> None:
    runs = sum(1 for _ in runs_where_nothing_changes(endpoints=8, periods=600))
    assert runs == pytest.approx(8 * 600, rel=0.02)


SPANS = some.lists(some.tuples(some.floats(0.01, 50.0), some.floats(0.01, 50.0)), min_size=1, max_size=60)


@given(SPANS, some.floats(0.05, 20.0))
def test_the_price_moves_in_small_steps_within_bounds(
    spans: list[tuple[float, float]], allowance: float
) -> None:
    run_price, now = RunPrice(), 0.0
    for waited, proposed in spans:
        now += waited * PERIOD_S
        run_price = run_price.after_run(now, waited, period_s=PERIOD_S, spent=1.0, allowance=allowance)
        after = run_price.after_proposal(proposed, allowance)
        assert abs(after.log_price - run_price.log_price) <= LARGEST_STEP + 1e-9
        assert abs(after.log_price) <= MOST_LOG_PRICE
        run_price = after


def test_whoever_was_down_for_a_week_has_not_saved_its_runs() -> None:
    run_price = RunPrice().after_run(0.0, 1.0, period_s=PERIOD_S, spent=1.0, allowance=1.0)
    week = 7 * 86_400.0
    back = run_price.after_run(week, week / PERIOD_S, period_s=PERIOD_S, spent=1.0, allowance=1.0)
    assert -10 <= back.overdraft <= 0
    assert isclose(back.price, 1.0)
