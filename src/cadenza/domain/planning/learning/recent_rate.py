"""How often an endpoint or a job changes now: a grid of rates, and how well each explains the latest runs."""

from functools import lru_cache
from math import exp, log
from operator import mul
from typing import NamedTuple

GridValues = tuple[float, ...]

GRID_SIZE = 12
SLOWEST, FASTEST = 2e-4, 2.0
RATE_GRID: GridValues = tuple(
    SLOWEST * float((FASTEST / SLOWEST) ** (index / (GRID_SIZE - 1))) for index in range(GRID_SIZE)
)
"""Changes per period; each a bit more than twice the one before."""
PERSISTENCE_PERIODS = (40.0, 400.0, 4_000.0)
"""For how long an endpoint may keep its rate before it takes another one; which applies is learned."""
UNIFORM_SUPPORT: tuple[GridValues, ...] = ((1.0,) * GRID_SIZE,) * len(PERSISTENCE_PERIODS)
"""The likelihood of each rate relative to the population's; equal before the first run."""
PRIOR_RATE = 0.02
PRIOR_WIDTH = 2.0
PRIOR_PERIODS = 100.0
HISTORY_PERIODS = 500_000.0
SMALLEST = 1e-290
LEAST_SUPPORT = 1e-6
LEAST_WEIGHT = 1e-6
MOST_LOG_ODDS = 20.0
"""How far, as a logarithm, one persistence may fall behind another: not so far that it cannot come back."""


def _prior_periods() -> GridValues:
    density = [exp(-((log(rate / PRIOR_RATE) / PRIOR_WIDTH) ** 2) / 2) for rate in RATE_GRID]
    return tuple(PRIOR_PERIODS * height / sum(density) for height in density)


class PopulationRates(NamedTuple):
    """All endpoints together: the periods spent at each rate, and how well each persistence explains them."""

    periods: GridValues = _prior_periods()
    evidence: GridValues = (0.0,) * len(PERSISTENCE_PERIODS)
    """Log-likelihoods, the highest of them 0."""

    @property
    def shares(self) -> GridValues:
        """The share of time that is spent at each rate."""
        scale = 1 / sum(self.periods)
        return tuple([one * scale for one in self.periods])

    @property
    def weights(self) -> GridValues:
        """The probability of each persistence."""
        odds = [exp(one) for one in self.evidence]
        total = sum(odds)
        return tuple([one / total for one in odds])


class RecentRate(NamedTuple):
    """The likelihood of each rate for one endpoint now, for each persistence."""

    supports: tuple[GridValues, ...] = UNIFORM_SUPPORT

    def after_wait(self, periods: float) -> "RecentRate":
        """After some periods without a run: it reverts to the population."""
        after = []
        for support, persistence_periods in zip(self.supports, PERSISTENCE_PERIODS, strict=True):
            stays = exp(-periods / persistence_periods)
            moved = 1 - stays
            after.append(tuple([one * stays + moved for one in support]))
        return RecentRate(tuple(after))

    def mean(self, shares: GridValues, weights: GridValues, *, ahead: float = 0.0) -> float:
        """The expected changes per period, so many periods ahead without a run."""
        rates = list(map(mul, shares, RATE_GRID))
        usual, total = sum(rates), 0.0
        for support, persistence_periods, weight in zip(
            self.supports, PERSISTENCE_PERIODS, weights, strict=True
        ):
            if weight > LEAST_WEIGHT:
                stays = exp(-ahead / persistence_periods)
                # The shares may have changed since the last run, so that supports no longer add up to one.
                explained = stays * sum(map(mul, support, rates)) + (1 - stays) * usual
                total += weight * explained / (stays * sum(map(mul, support, shares)) + 1 - stays)
        return total


@lru_cache(maxsize=1)
def _likelihoods(periods: float, *, changed: bool) -> GridValues:
    """How likely each rate makes what a run showed: first asked for its endpoint, then for its job."""
    quiet = tuple([exp(-rate * periods) for rate in RATE_GRID])
    return tuple([1 - one for one in quiet]) if changed else quiet


def updated_rates(
    recent_rate: RecentRate, population: PopulationRates, *, periods: float, spent: float, changed: bool
) -> tuple[RecentRate, PopulationRates]:
    """After a run, so many periods after the last one; supports are scaled to a mean of 1."""
    shares, weights = population.shares, population.weights
    likelihoods = _likelihoods(periods, changed=changed)
    supports, log_likelihoods = [], []
    for support in recent_rate.supports:
        after = list(map(mul, support, likelihoods))
        total = max(sum(map(mul, after, shares)), SMALLEST)
        supports.append(tuple([one / total for one in after]))
        log_likelihoods.append(log(total))
    evidence = list(map(sum, zip(population.evidence, log_likelihoods, strict=True)))
    best = max(evidence)
    decay = 1.0 if sum(population.periods) < HISTORY_PERIODS else 0.5
    # Computed with every run, so without a call for each rate.
    short, middle, long = weights
    periods_at_rates = tuple(
        [
            old * decay + spent * ((short * one + middle * two + long * three) * share)
            for old, share, one, two, three in zip(population.periods, shares, *supports, strict=True)
        ]
    )
    return RecentRate(tuple(supports)), PopulationRates(
        periods_at_rates, tuple([max(one - best, -MOST_LOG_ODDS) for one in evidence])
    )


class JobRate(NamedTuple):
    """The likelihood of each rate for all endpoints of a job, where what strikes one strikes all.

    Every run of any of them counts, also one without a change. Such a rate lasts as long as the
    least persistent one of an endpoint.
    """

    support: GridValues = (1.0,) * GRID_SIZE
    at_s: float = 0.0

    def mean(self, shares: GridValues, at_s: float, *, period_s: float) -> float:
        """The expected changes of each endpoint, per period of it, at this moment or at the last run."""
        rates = list(map(mul, shares, RATE_GRID))
        usual: float = sum(rates)
        now: float = sum(map(mul, self.support, rates))
        return usual + (now - usual) * self._stays(at_s, period_s)

    def after_run(
        self, shares: GridValues, at_s: float, *, period_s: float, periods: float, changed: bool
    ) -> "JobRate":
        """After a run of one of its endpoints, so many periods after the last one of the same endpoint."""
        stays = self._stays(at_s, period_s)
        moved = 1 - stays
        likelihoods = _likelihoods(periods, changed=changed)
        # A rate that was ruled out must be able to come back.
        after = [
            (one * stays + moved) * likelihood + LEAST_SUPPORT
            for one, likelihood in zip(self.support, likelihoods, strict=True)
        ]
        scale = 1 / sum(map(mul, after, shares))
        return JobRate(tuple([one * scale for one in after]), max(at_s, self.at_s))

    def _stays(self, at_s: float, period_s: float) -> float:
        return exp(-max(at_s - self.at_s, 0.0) / (period_s * PERSISTENCE_PERIODS[0]))
