"""How far runs may be put off: as far as late discoveries stay rare."""

from math import log
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as some

from cadenza.domain.planning.learning.caution import (
    LATE_PERIODS,
    LATE_SHARE,
    LEAST_COST,
    LEAST_LIMIT,
    MANY_CHANGES,
    MOST_COST,
    MOST_LIMIT,
    Caution,
    late_probability,
)
from cadenza.domain.planning.learning.learner import Period
from cadenza.domain.planning.learning.proposal import Bounds, propose
from cadenza.domain.planning.learning.state import EndpointModel, SharedModel

GAPS = some.lists(some.floats(0.01, 20.0), max_size=60)
DEAR = SharedModel()._replace(run_price=SharedModel().run_price._replace(log_price=9.0))
"""So dear a run that every interval is as long as it may be."""


def after(gaps: list[float], caution: Caution | None = None) -> Caution:
    caution = caution or Caution()
    for gap in gaps:
        caution = caution.after_change(gap)
    return caution


@given(GAPS)
def test_limit_and_cost_stay_within_their_bounds(gaps: list[float]) -> None:
    found = after(gaps)
    assert found.limit * (1 + 1e-9) >= LEAST_LIMIT
    assert found.limit <= MOST_LIMIT * (1 + 1e-9)
    assert found.late_cost(1.0).cost * (1 + 1e-9) >= LEAST_COST
    assert found.late_cost(1.0).cost <= MOST_COST * (1 + 1e-9)


@given(GAPS, some.floats(1.01, 20.0), some.floats(0.01, LATE_PERIODS))
def test_a_late_change_makes_it_more_cautious_and_one_in_time_less(
    gaps: list[float], late: float, early: float
) -> None:
    before = after(gaps)
    worse, better = before.after_change(late), before.after_change(early)
    assert worse.log_cost >= before.log_cost >= better.log_cost
    assert worse.log_limit <= better.log_limit
    assert better.log_limit >= before.log_limit


@pytest.mark.parametrize("log_price", [-9.0, 0.0, 9.0], ids=["cheap", "usual", "dear"])
def test_before_anything_has_changed_the_fixed_pace_is_kept(log_price: float) -> None:
    shared = SharedModel()._replace(run_price=SharedModel().run_price._replace(log_price=log_price))
    for allowance in (0.5, 1.0, 2.0):
        period = Period(60.0, allowance)
        found = propose(EndpointModel(at_s=0.0), shared, period=period, at_s=0.0, bounds=Bounds(0.1, 6.0))
        assert found.periods == pytest.approx(1 / allowance)


def test_after_the_first_change_no_interval_is_much_longer_than_the_fixed_pace() -> None:
    shared = DEAR._replace(caution=Caution().after_change(1.0))
    found = propose(EndpointModel(at_s=0.0), shared, period=Period(60.0), at_s=0.0, bounds=Bounds(0.1, 6.0))
    assert 1.0 < found.periods < 1.05


def test_at_the_fixed_pace_itself_the_limit_grows() -> None:
    assert after([1.0] * 60).limit > 1.2
    assert after([1.3] * 60).limit == pytest.approx(LEAST_LIMIT, rel=0.05)


def test_changes_that_are_seen_in_time_let_intervals_grow() -> None:
    limits = [after([0.3] * count).limit for count in (0, 20, 60, 120)]
    assert limits == sorted(limits)
    assert limits[-1] == pytest.approx(MOST_LIMIT)


def test_late_changes_bring_the_intervals_back_to_the_fixed_pace() -> None:
    found = after([3.0] * 10, after([0.3] * 120))
    assert found.limit == pytest.approx(LEAST_LIMIT, rel=0.2)


def test_after_many_changes_the_cost_of_late_ones_is_enough() -> None:
    found = after([1.5] * int(MANY_CHANGES))
    assert found.limit == pytest.approx(MOST_LIMIT)
    assert found.late_cost(1.0).cost == pytest.approx(MOST_COST)


def test_the_cost_grows_until_no_more_are_late_than_at_a_fixed_pace() -> None:
    chance, caution, late = Random(4), Caution(), []
    for number in range(12_000):
        gap = chance.expovariate(1.0) / (1 + caution.late_cost(1.0).cost)
        caution = caution.after_change(gap)
        late += [late_probability(gap)] if number > 6_000 else []
    assert abs(sum(late) / len(late) - LATE_SHARE) < 0.01


def test_late_is_what_a_fixed_pace_with_as_many_runs_would_not_have_seen() -> None:
    assert late_probability(0.9) == 0.0
    assert late_probability(1.0) == pytest.approx(0.05)
    assert Caution().late_cost(2.0).after == 0.5


@pytest.mark.parametrize("gap", [1.5, 2.0, 6.0])
def test_a_change_that_was_announced_came_after_the_announcement(gap: float) -> None:
    steps = 20_000
    announced = [gap * (step + 0.5) / steps for step in range(steps)]
    late = sum(max(gap - LATE_PERIODS - at, 0.0) / (gap - at) for at in announced) / steps
    assert late_probability(gap, announced=True) == pytest.approx(late, abs=1e-4)
    assert late_probability(gap, announced=True) < late_probability(gap)


def test_what_an_earlier_release_has_learned_is_still_read() -> None:
    assert Caution(2.0).after_change(0.5).log_cost <= log(MOST_COST)
    assert Caution(-4.0).after_change(0.5).log_cost >= log(LEAST_COST)
