"""The price of a run: it moves until the runs spent are the runs allowed."""

from collections.abc import Iterator
from heapq import heapify, heapreplace
from math import exp, isclose
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as some

from cadenza.domain.planning.learning.learner import Beat, learned
from cadenza.domain.planning.learning.proposal import Bounds, decided
from cadenza.domain.planning.learning.run_price import LARGEST_STEP, STEEPEST, Purse
from cadenza.domain.planning.learning.state import Known, Look, Pool

BEAT_S = 60.0
QUIET_BEAT_S = 300.0
"""Longer, so that there are days and not only hours to be unlike each other."""


def spent(
    allowance: float, *, endpoints: int = 20, beats: int = 1_500, jump: float = 1.0
) -> tuple[float, Purse]:
    """Runs per beat in the second half, where an interval grows with the square root of the price.

    Halfway everything becomes so many times more worth.
    """
    chance, purse = Random(5), Purse()
    due = [(chance.random(), number, 1.0) for number in range(endpoints)]
    runs = 0
    while True:
        at, number, waited = min(due)
        if at > beats:
            return runs / endpoints / (beats / 2), purse
        runs += at > beats / 2
        purse = purse.ran(at * BEAT_S, waited, beat_s=BEAT_S, spent=1.0, allowance=allowance)
        worth = (jump if at > beats / 2 else 1.0) * (0.2 + number / endpoints)
        wait = min(max(exp(purse.logarithm / 2) / worth**0.5, 0.1), 10.0)
        purse = purse.planned(wait, allowance)
        due[number] = (at + wait, number, wait)


def looks_where_nothing_changes(*, endpoints: int, beats: int) -> Iterator[float]:
    """When the learner looks at endpoints that never change, in beats."""
    pool, chance = Pool(), Random(6)
    due = [(chance.random(), number, Known()) for number in range(endpoints)]
    heapify(due)
    beat = Beat(QUIET_BEAT_S)
    while due[0][0] < beats:
        at, number, known = due[0]
        yield at
        known, pool = learned(known, Look(at * QUIET_BEAT_S), pool=pool, beat=beat)
        known, pool, proposal = decided(known, pool, beat=beat, at_s=at * QUIET_BEAT_S, bounds=Bounds())
        heapreplace(due, (at + proposal.beats, number, known))


@pytest.mark.parametrize("allowance", [0.5, 1.0, 3.0])
def test_the_spend_meets_the_allowance(allowance: float) -> None:
    assert spent(allowance)[0] == pytest.approx(allowance, rel=0.03)


def test_when_everything_becomes_more_urgent_the_price_rises_and_the_spend_stays() -> None:
    runs, purse = spent(1.0, jump=6.0)
    assert runs == pytest.approx(1.0, rel=0.06)
    assert purse.price > 3 * spent(1.0)[1].price


def test_a_single_endpoint_spends_its_allowance_too() -> None:
    assert spent(1.0, endpoints=1)[0] == pytest.approx(1.0, rel=0.05)


def test_where_nothing_changes_and_looks_are_worth_ever_less_the_spend_meets_the_allowance_too() -> None:
    runs = sum(1 for _ in looks_where_nothing_changes(endpoints=8, beats=600))
    assert runs == pytest.approx(8 * 600, rel=0.02)


SPANS = some.lists(some.tuples(some.floats(0.01, 50.0), some.floats(0.01, 50.0)), min_size=1, max_size=60)


@given(SPANS, some.floats(0.05, 20.0))
def test_the_price_moves_in_small_steps_within_bounds(
    spans: list[tuple[float, float]], allowance: float
) -> None:
    purse, now = Purse(), 0.0
    for waited, planned in spans:
        now += waited * BEAT_S
        purse = purse.ran(now, waited, beat_s=BEAT_S, spent=1.0, allowance=allowance)
        after = purse.planned(planned, allowance)
        assert abs(after.logarithm - purse.logarithm) <= LARGEST_STEP + 1e-9
        assert abs(after.logarithm) <= STEEPEST
        purse = after


def test_whoever_was_down_for_a_week_has_not_saved_its_runs() -> None:
    purse = Purse().ran(0.0, 1.0, beat_s=BEAT_S, spent=1.0, allowance=1.0)
    week = 7 * 86_400.0
    back = purse.ran(week, week / BEAT_S, beat_s=BEAT_S, spent=1.0, allowance=1.0)
    assert -10 <= back.overdraft <= 0
    assert isclose(back.price, 1.0)
