"""When the next look is worth its price."""

from math import exp, log, sqrt
from typing import NamedTuple

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


LATE_BEATS = 1.0
"""A change is seen late if its endpoint's own baseline would have seen it by then."""
RARE = 0.05
"""The share of changes that may be seen late."""
STEP = 0.2
LEAST, MOST = -4.0, 2.0


class Patience(NamedTuple):
    """The logarithm of the impatience: what a delay of one beat costs beyond its length.

    Without impatience, looks go where the mean delay shrinks most, and those who change
    rarely are seen later still. It grows with every change that was seen late, and fades
    with those that were not, so that in the long run one in twenty is late.
    """

    logarithm: float = -1.0

    @property
    def impatience(self) -> float:
        """As a factor."""
        return exp(self.logarithm)

    def seen(self, beats: float, *, announced: bool = False) -> "Patience":
        """After a change that came at any moment of so many beats.

        One that was announced within them, also at any moment, came after that.
        """
        late = 0.0
        if beats > LATE_BEATS:
            over = beats - LATE_BEATS
            late = (over - LATE_BEATS * log(beats / LATE_BEATS) if announced else over) / beats
        return Patience(min(max(self.logarithm + STEP * (late - RARE), LEAST), MOST))
