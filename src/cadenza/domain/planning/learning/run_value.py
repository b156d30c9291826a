"""The value of a run after a gap, and the gap after which it is worth its price."""

from math import exp, log, sqrt
from typing import NamedTuple

STEPS = 9
SERIES_BELOW = 0.02


def run_value(rate: float, periods: float, *, penalty: float) -> float:
    """The expected cost of delay that a run ends, so many periods after the last one.

    With hazard h, its integral H, and cost d + i·d² of a delay d, where i is the penalty, this is
    the integral from 0 to τ of h(s)·exp(-H(s))·(s + i·(τ² - s²)), for a constant hazard. It grows
    with the periods; with the rate it grows until changes come faster than runs, and hardly further.
    """
    expected = rate * periods
    if expected < SERIES_BELOW:
        mean = expected * periods * (1 / 2 - expected / 3 + expected**2 / 8)
        late = expected * periods**2 * (2 / 3 - expected / 4 + expected**2 / 15)
        return mean + penalty * late
    left = exp(-expected) * (1 + expected)
    return (1 - left) / rate + penalty * (expected**2 - 2 + 2 * left) / rate**2


def periods_until_worth(price: float, rate: float, *, penalty: float, least: float, most: float) -> float:
    """After how many periods a run is worth the price, within bounds; by bisection."""
    if run_value(rate, most, penalty=penalty) <= price:
        return most
    if run_value(rate, least, penalty=penalty) >= price:
        return least
    low, high = least, most
    for _ in range(STEPS):
        middle = sqrt(low * high)
        if run_value(rate, middle, penalty=penalty) < price:
            low = middle
        else:
            high = middle
    return sqrt(low * high)


LATE_PERIODS = 1.0
"""A change is seen late if it is seen after this delay: the baseline would have seen it by then."""
LATE_SHARE = 0.05
"""The share of changes that may be seen late."""
PENALTY_STEP = 0.2
LEAST_LOG, MOST_LOG = -4.0, 2.0


class DelayPenalty(NamedTuple):
    """The logarithm of the penalty: what a delay of one period costs beyond its length.

    Without it, runs go where the mean delay shrinks most, and changes of endpoints that
    change rarely are seen even later. It grows with every change that was seen late, and
    shrinks with the others, so that in the long run one in twenty is late.
    """

    log_penalty: float = -1.0

    @property
    def penalty(self) -> float:
        """The penalty as a factor."""
        return exp(self.log_penalty)

    def after_change(self, periods: float, *, announced: bool = False) -> "DelayPenalty":
        """After a change at an unknown moment within so many periods.

        If stress announced it at an unknown moment within them, it came after that.
        """
        late = 0.0
        if periods > LATE_PERIODS:
            over = periods - LATE_PERIODS
            late = (over - LATE_PERIODS * log(periods / LATE_PERIODS) if announced else over) / periods
        return DelayPenalty(
            min(max(self.log_penalty + PENALTY_STEP * (late - LATE_SHARE), LEAST_LOG), MOST_LOG)
        )
