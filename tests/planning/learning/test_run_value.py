"""When the next look is worth its price."""

from math import exp, isclose, sqrt

from hypothesis import given
from hypothesis import strategies as some

from cadenza.domain.planning.learning.run_value import periods_until_worth, run_value

RATES = some.floats(1e-5, 5.0)
BEATS = some.floats(0.05, 20.0)
IMPATIENCE = some.floats(0.0, 8.0)
LEAST, MOST = 0.1, 10.0


def by_the_integral(rate: float, periods: float, penalty: float, steps: int = 2_000) -> float:
    """What the docstring says, summed up."""
    width = periods / steps
    moments = [(step + 0.5) * width for step in range(steps)]
    return sum(rate * exp(-rate * at) * (at + penalty * (periods**2 - at**2)) * width for at in moments)


@given(RATES, BEATS, IMPATIENCE)
def test_the_worth_is_the_integral_of_the_harm_that_a_look_ends(
    rate: float, periods: float, penalty: float
) -> None:
    expected = by_the_integral(rate, periods, penalty)
    assert isclose(run_value(rate, periods, penalty=penalty), expected, rel_tol=2e-3)


@given(RATES, BEATS, some.floats(1.0, 3.0), IMPATIENCE)
def test_the_value_grows_with_the_periods(rate: float, periods: float, times: float, penalty: float) -> None:
    sooner, later = (run_value(rate, span, penalty=penalty) for span in (periods, periods * times))
    assert later >= sooner * (1 - 1e-9)


@given(RATES, some.floats(LEAST, MOST), IMPATIENCE)
def test_the_gap_is_the_one_after_which_a_run_is_worth_the_price(
    rate: float, periods: float, penalty: float
) -> None:
    price = run_value(rate, periods, penalty=penalty)
    found = periods_until_worth(price, rate, penalty=penalty, least=LEAST, most=MOST)
    around = [run_value(rate, found * times, penalty=penalty) for times in (0.99, 1.01)]
    assert around[0] <= price * (1 + 1e-9)
    assert around[1] >= price * (1 - 1e-9)


@given(some.floats(1e-9, 1e9), some.floats(0.0, 5.0), IMPATIENCE)
def test_the_bounds_are_kept_whatever_the_price(price: float, rate: float, penalty: float) -> None:
    assert LEAST <= periods_until_worth(price, rate or 1e-12, penalty=penalty, least=LEAST, most=MOST) <= MOST


@given(some.floats(1e-5, 1e-3), some.floats(0.2, 8.0))
def test_where_changes_are_rare_the_square_root_law_holds(rate: float, periods: float) -> None:
    price = rate * periods**2 / 2
    found = periods_until_worth(price, rate, penalty=0.0, least=LEAST, most=MOST)
    assert isclose(found, sqrt(2 * price / rate), rel_tol=0.02)


@given(some.floats(1e-4, 1e-2), some.floats(0.2, 3.0), some.floats(0.1, 5.0))
def test_the_penalty_brings_rare_and_frequent_intervals_together(
    rate: float, periods: float, penalty: float
) -> None:
    price = run_value(rate, periods, penalty=0.0)

    def ratio(penalty: float) -> float:
        calm, busy = (
            periods_until_worth(price, rate * times, penalty=penalty, least=1e-3, most=1e3)
            for times in (0.01, 1)
        )
        return calm / busy

    assert ratio(penalty) < ratio(0.0)
