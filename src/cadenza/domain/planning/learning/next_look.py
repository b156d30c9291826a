"""When the next look is worth its price."""

from math import exp, sqrt

STEPS = 9
SERIES_BELOW = 0.02


def worth(rate: float, beats: float, *, impatience: float) -> float:
    """What a look saves after so many beats: the harm that it is expected to end, as a price.

    With hazard h, its integral H, and harm d + i·d² of a delay d, where i is the impatience, this is
    the integral from 0 to τ of h(s)·exp(-H(s))·(s + i·(τ² - s²)), for a constant hazard. It grows
    with the beats; with the rate it grows until changes come faster than looks, and hardly any further.
    """
    met = rate * beats
    if met < SERIES_BELOW:
        mean = met * beats * (1 / 2 - met / 3 + met**2 / 8)
        late = met * beats**2 * (2 / 3 - met / 4 + met**2 / 15)
        return mean + impatience * late
    left = exp(-met) * (1 + met)
    return (1 - left) / rate + impatience * (met**2 - 2 + 2 * left) / rate**2


def beats_worth(price: float, rate: float, *, impatience: float, least: float, most: float) -> float:
    """After how many beats a look is worth the price, within bounds; by bisection."""
    if worth(rate, most, impatience=impatience) <= price:
        return most
    if worth(rate, least, impatience=impatience) >= price:
        return least
    low, high = least, most
    for _ in range(STEPS):
        middle = sqrt(low * high)
        if worth(rate, middle, impatience=impatience) < price:
            low = middle
        else:
            high = middle
    return sqrt(low * high)
