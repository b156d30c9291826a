"""What came of forecasts: a correction of rates, and which of two ways to forecast is better."""

from math import exp, expm1, log
from typing import NamedTuple

from cadenza.domain.planning.learning.recent_rate import FASTEST, GRID_SIZE, SLOWEST

PRIOR_CHANGES = 4.0
"""How many changes it takes until a correction is believed more than doubted."""
MOST_CHANGES = 2_000.0
DOUBTED, MOST_LOG_ODDS = -3.0, 20.0
"""The log odds of a way to forecast that is doubted at first; and how far evidence may move them."""
LEAST_LOG_ODDS = -6.0
LEAST_EXPECTED = 1e-9
PER_LOG = (GRID_SIZE - 1) / log(FASTEST / SLOWEST)


class ForecastRecord(NamedTuple):
    """Changes where about one rate was forecast, and those that the forecast expected."""

    changes: float = 0.0
    expected: float = 0.0

    @property
    def ratio(self) -> float:
        """Changes by those expected; 1 until there is evidence."""
        return (self.changes + PRIOR_CHANGES) / (self.expected + PRIOR_CHANGES)

    def plus(self, share: float, changes: float, expected: float) -> "ForecastRecord":
        """With a share of another run; when it is full, half of the older is forgotten."""
        decay = 1.0 if self.expected + self.changes < MOST_CHANGES else 0.5
        return ForecastRecord(
            self.changes * decay + share * changes, self.expected * decay + share * expected
        )


class Calibration(NamedTuple):
    """The record of forecasts, for rates a bit more than a factor of two apart."""

    records: tuple[ForecastRecord, ...] = (ForecastRecord(),) * GRID_SIZE

    def corrected(self, rate: float) -> float:
        """The rate at which changes came where this one was forecast."""
        lower, fraction = _position(rate)
        below, above = self.records[lower].ratio, self.records[lower + 1].ratio
        return float(rate * below ** (1 - fraction) * above**fraction)

    def after_run(self, rate: float, *, changes: float, periods: float) -> "Calibration":
        """After a run for which this rate was forecast."""
        lower, fraction = _position(rate)
        expected, records = rate * periods, list(self.records)
        records[lower] = records[lower].plus(1 - fraction, changes, expected)
        records[lower + 1] = records[lower + 1].plus(fraction, changes, expected)
        return Calibration(tuple(records))


class ForecastComparison(NamedTuple):
    """Whether forecasts are better in another way, by the changes that came."""

    log_odds: float = 0.0

    @property
    def weight(self) -> float:
        """The probability that the other way is the better one."""
        return 1 / (1 + exp(-self.log_odds))

    @property
    def counts(self) -> bool:
        """Whether the other way is likely enough to be asked."""
        return self.log_odds > LEAST_LOG_ODDS

    def mixed(self, usual: float, other: float) -> float:
        """The forecast by both ways, each as much as it is likely to be the better one."""
        return usual + self.weight * (other - usual)

    def believed(self, ratio: float) -> float:
        """A ratio of the other forecast to the usual one, as far as that way is believed."""
        return self.mixed(1.0, ratio) if self.counts else 1.0

    def after_run(self, usual: float, other: float, *, changed: bool) -> "ForecastComparison":
        """After a run for which so many changes were expected in both ways, by Bayes' rule."""
        if usual == other:
            return self
        usual, other = max(usual, LEAST_EXPECTED), max(other, LEAST_EXPECTED)
        gained = log(expm1(-other) / expm1(-usual)) if changed else usual - other
        return ForecastComparison(min(max(self.log_odds + gained, -MOST_LOG_ODDS), MOST_LOG_ODDS))


def _position(rate: float) -> tuple[int, float]:
    """Between which records a rate lies: the lower one, and the fraction of the way to the next."""
    scaled = min(max(log(max(rate, SLOWEST) / SLOWEST) * PER_LOG, 0.0), GRID_SIZE - 1.0)
    lower = min(int(scaled), GRID_SIZE - 2)
    return lower, scaled - lower
