"""The value of a run after a gap, and the gap after which it is worth its price."""

from math import exp, expm1, sqrt

from cadenza.domain.planning.learning.caution import LateCost

STEPS = 9
SERIES_BELOW = 0.02
NO_COST = LateCost()


def run_value(rate: float, periods: float, *, late: LateCost = NO_COST) -> float:
    """The expected cost of delay that a run ends, so many periods after the last one.

    With hazard h and its integral H, this is the integral from 0 to τ of s·h(s)·exp(-H(s)), for a
    constant hazard; and from the gap on after which changes are late, what it costs if one comes
    in such a gap. It grows with the periods; with the rate it grows until changes come faster
    than runs, and hardly further.
    """
    expected = rate * periods
    if expected < SERIES_BELOW:
        value = expected * periods * (1 / 2 - expected / 3 + expected**2 / 8)
    else:
        value = (1 - exp(-expected) * (1 + expected)) / rate
    return value - late.cost * expm1(-rate * late.after) if periods > late.after else value


def periods_until_worth(
    price: float, rate: float, *, least: float, most: float, late: LateCost = NO_COST
) -> float:
    """After how many periods a run is worth the price, within bounds; by bisection."""
    if run_value(rate, most, late=late) <= price:
        return most
    if run_value(rate, least, late=late) >= price:
        return least
    low, high = least, most
    for _ in range(STEPS):
        middle = sqrt(low * high)
        if run_value(rate, middle, late=late) < price:
            low = middle
        else:
            high = middle
    return sqrt(low * high)
