"""How often an endpoint changes in the long run: its evidence, and the prior of all endpoints."""

from math import expm1, log1p, sqrt
from typing import NamedTuple

SMALLEST = 1e-12


class Evidence(NamedTuple):
    """Changes, and the periods in which they could have happened."""

    changes: float = 0.0
    periods: float = 0.0

    def plus(self, more: "Evidence", *, decay: float = 1.0) -> "Evidence":
        """The sum of both, with the older weighted by `decay`."""
        return Evidence(self.changes * decay + more.changes, self.periods * decay + more.periods)


class GammaRate(NamedTuple):
    """A Gamma distribution of the changes per period."""

    shape: float
    periods: float

    @property
    def mean(self) -> float:
        """The mean rate, in changes per period."""
        return self.shape / self.periods

    @property
    def deviation(self) -> float:
        """The standard deviation of the rate."""
        return sqrt(self.shape) / self.periods

    def posterior(self, evidence: Evidence) -> "GammaRate":
        """The posterior distribution after this evidence."""
        return GammaRate(self.shape + evidence.changes, self.periods + evidence.periods)


def evidence_of(estimate: GammaRate, periods: float, *, changed: bool) -> Evidence:
    """What one run adds to an estimate, `periods` after the last one.

    Nothing changed: that many periods without a change. Something changed, once or more often:
    the Gamma distribution with the mean and the variance of the exact posterior, which adds
    a whole change after a short gap and next to nothing after a long one.
    """
    if not changed or periods <= 0:
        return Evidence(0.0, max(periods, 0.0))
    shape, exposure = estimate
    shrunk = -log1p(periods / exposure)
    probability = -expm1(shape * shrunk)
    if probability < SMALLEST:
        return Evidence(1.0, periods / 2)
    mean = estimate.mean * -expm1((shape + 1) * shrunk) / probability
    square = estimate.mean * (shape + 1) / exposure * -expm1((shape + 2) * shrunk) / probability
    variance = square - mean * mean
    if variance <= mean * mean * SMALLEST:
        return Evidence(1.0, periods / 2)
    changes = min(max(mean * mean / variance - shape, 0.0), 1.0)
    return Evidence(changes, min(max(mean / variance - exposure, 0.0), periods))


def changes_per_seen_one(expected: float) -> float:
    """The expected number of changes given that at least one was seen, where `expected` is their mean."""
    return expected / -expm1(-expected) if expected > SMALLEST else 1.0


LEAST_RATE = 1e-6
SHAPES = (0.3, 30.0)
"""Bounds of the Gamma shape: a low one for endpoints that differ much, a high one for similar ones."""
PRIOR_PERIODS = 50.0
"""How many periods the initial guess of their variance counts for."""
HISTORY_PERIODS = 500_000.0


class RatePrior(NamedTuple):
    """Changes and periods of all endpoints together, and the moments of their own estimates."""

    changes: float
    periods: float
    weight: float = 0.0
    mean: float = 0.0
    square: float = 0.0

    @classmethod
    def initial(cls, rate: float) -> "RatePrior":
        """The prior before any data: as if one change had been seen at this rate."""
        return cls(1.0, 1.0 / rate)

    @property
    def rate(self) -> float:
        """The mean rate of all endpoints."""
        return max(self.changes / self.periods, LEAST_RATE)

    def gamma(self) -> GammaRate:
        """The Gamma distribution for an endpoint without data."""
        rate, weight = self.rate, self.weight + PRIOR_PERIODS
        mean = (self.mean + PRIOR_PERIODS * rate) / weight
        square = (self.square + PRIOR_PERIODS * 2 * rate * rate) / weight
        variance = max(square - mean * mean, LEAST_RATE**2)
        shape = min(max(mean * mean / variance, SHAPES[0]), SHAPES[1])
        return GammaRate(shape, shape / rate)

    def updated(self, estimate: GammaRate, periods: float, *, changed: bool) -> "RatePrior":
        """After one run of one endpoint; several changes may have happened where one was seen."""
        mean = estimate.mean
        changes = changes_per_seen_one(mean * periods) if changed else 0.0
        decay = 1.0 if self.periods < HISTORY_PERIODS else 0.5
        return RatePrior(
            self.changes * decay + changes,
            self.periods * decay + periods,
            self.weight * decay + periods,
            self.mean * decay + periods * mean,
            self.square * decay + periods * mean * mean * (1 + 1 / estimate.shape),
        )
