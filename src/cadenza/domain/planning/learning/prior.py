"""The prior of an endpoint's rate, from the rates of all endpoints and how much they differ."""

from typing import NamedTuple

from cadenza.domain.planning.learning.long_term_rate import GammaRate, changes_per_seen_one

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
