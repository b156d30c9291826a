"""When the next look is worth its price."""

from math import exp, isclose, sqrt

from hypothesis import given
from hypothesis import strategies as some

from cadenza.domain.planning.learning.caution import LateCost
from cadenza.domain.planning.learning.run_value import periods_until_worth, run_value

RATES = some.floats(1e-5, 5.0)
BEATS = some.floats(0.05, 20.0)
LATE_COSTS = some.builds(LateCost, some.floats(0.0, 8.0), some.floats(0.2, 4.0))
LEAST, MOST = 0.1, 10.0


def by_the_integral(rate: float, periods: float, late: LateCost, steps: int = 2_000) -> float:
    """What the docstring says, summed up."""
    width = periods / steps
    moments = [(step + 0.5) * width for step in range(steps)]
    delay = sum(rate * exp(-rate * at) * at * width for at in moments)
    return delay + (late.cost * (1 - exp(-rate * late.after)) if periods > late.after else 0.0)


@given(RATES, BEATS, LATE_COSTS)
def test_the_worth_is_the_integral_of_the_harm_that_a_look_ends(
    rate: float, periods: float, late: LateCost
) -> None:
    expected = by_the_integral(rate, periods, late)
    assert isclose(run_value(rate, periods, late=late), expected, rel_tol=2e-3)


@given(RATES, BEATS, some.floats(1.0, 3.0), LATE_COSTS)
def test_the_value_grows_with_the_periods(rate: float, periods: float, times: float, late: LateCost) -> None:
    sooner, later = (run_value(rate, span, late=late) for span in (periods, periods * times))
    assert later >= sooner * (1 - 1e-9)


@given(RATES, some.floats(LEAST, MOST), LATE_COSTS)
def test_the_gap_is_the_one_after_which_a_run_is_worth_the_price(
    rate: float, periods: float, late: LateCost
) -> None:
    price = run_value(rate, periods, late=late)
    found = periods_until_worth(price, rate, least=LEAST, most=MOST, late=late)
    around = [run_value(rate, found * times, late=late) for times in (0.99, 1.01)]
    assert around[0] <= price * (1 + 1e-9)
    assert around[1] >= price * (1 - 1e-9)


@given(some.floats(1e-9, 1e9), some.floats(0.0, 5.0), LATE_COSTS)
def test_the_bounds_are_kept_whatever_the_price(price: float, rate: float, late: LateCost) -> None:
    assert LEAST <= periods_until_worth(price, rate or 1e-12, least=LEAST, most=MOST, late=late) <= MOST


@given(some.floats(1e-5, 1e-3), some.floats(0.2, 8.0))
def test_where_changes_are_rare_the_square_root_law_holds(rate: float, periods: float) -> None:
    price = rate * periods**2 / 2
    found = periods_until_worth(price, rate, least=LEAST, most=MOST)
    assert isclose(found, sqrt(2 * price / rate), rel_tol=0.02)


@given(some.floats(1e-4, 1e-2), some.floats(0.3, 3.0), some.floats(1.01, 1.9))
def test_no_interval_exceeds_the_fixed_pace_until_that_is_worth_the_cost_of_a_late_change(
    rate: float, cost: float, times: float
) -> None:
    at_most = run_value(rate, 1.0) + times * cost * (1 - exp(-rate)) / 2
    late = LateCost(cost)
    assert periods_until_worth(at_most, rate, least=LEAST, most=MOST) > 1.0
    assert isclose(periods_until_worth(at_most, rate, least=LEAST, most=MOST, late=late), 1.0, rel_tol=0.01)
