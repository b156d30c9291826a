"""When the next look is worth its price."""

from math import exp, isclose, sqrt

from hypothesis import given
from hypothesis import strategies as some

from cadenza.domain.planning.learning.next_look import beats_worth, worth

RATES = some.floats(1e-5, 5.0)
BEATS = some.floats(0.05, 20.0)
IMPATIENCE = some.floats(0.0, 8.0)
LEAST, MOST = 0.1, 10.0


def by_the_integral(rate: float, beats: float, impatience: float, steps: int = 2_000) -> float:
    """What the docstring says, summed up."""
    width = beats / steps
    moments = [(step + 0.5) * width for step in range(steps)]
    return sum(rate * exp(-rate * at) * (at + impatience * (beats**2 - at**2)) * width for at in moments)


@given(RATES, BEATS, IMPATIENCE)
def test_the_worth_is_the_integral_of_the_harm_that_a_look_ends(
    rate: float, beats: float, impatience: float
) -> None:
    expected = by_the_integral(rate, beats, impatience)
    assert isclose(worth(rate, beats, impatience=impatience), expected, rel_tol=2e-3)


@given(RATES, BEATS, some.floats(1.0, 3.0), IMPATIENCE)
def test_the_worth_grows_with_the_beats(rate: float, beats: float, times: float, impatience: float) -> None:
    sooner, later = (worth(rate, span, impatience=impatience) for span in (beats, beats * times))
    assert later >= sooner * (1 - 1e-9)


@given(RATES, some.floats(LEAST, MOST), IMPATIENCE)
def test_the_beats_are_those_at_which_a_look_is_worth_the_price(
    rate: float, beats: float, impatience: float
) -> None:
    price = worth(rate, beats, impatience=impatience)
    found = beats_worth(price, rate, impatience=impatience, least=LEAST, most=MOST)
    around = [worth(rate, found * times, impatience=impatience) for times in (0.99, 1.01)]
    assert around[0] <= price * (1 + 1e-9)
    assert around[1] >= price * (1 - 1e-9)


@given(some.floats(1e-9, 1e9), some.floats(0.0, 5.0), IMPATIENCE)
def test_the_bounds_are_kept_whatever_the_price(price: float, rate: float, impatience: float) -> None:
    assert LEAST <= beats_worth(price, rate or 1e-12, impatience=impatience, least=LEAST, most=MOST) <= MOST


@given(some.floats(1e-5, 1e-3), some.floats(0.2, 8.0))
def test_where_changes_are_rare_the_square_root_law_holds(rate: float, beats: float) -> None:
    price = rate * beats**2 / 2
    found = beats_worth(price, rate, impatience=0.0, least=LEAST, most=MOST)
    assert isclose(found, sqrt(2 * price / rate), rel_tol=0.02)


@given(some.floats(1e-4, 1e-2), some.floats(0.2, 3.0), some.floats(0.1, 5.0))
def test_impatience_brings_those_together_who_are_looked_at_rarely_and_often(
    rate: float, beats: float, impatience: float
) -> None:
    price = worth(rate, beats, impatience=0.0)

    def ratio(impatience: float) -> float:
        calm, busy = (
            beats_worth(price, rate * times, impatience=impatience, least=1e-3, most=1e3)
            for times in (0.01, 1)
        )
        return calm / busy

    assert ratio(impatience) < ratio(0.0)
