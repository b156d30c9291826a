"""How often an endpoint changes in the long run: the evidence, and the Gamma distribution it leads to."""

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
