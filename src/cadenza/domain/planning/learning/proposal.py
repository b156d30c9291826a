"""The interval to propose, and what it would be with less information."""

from typing import NamedTuple

from cadenza.domain.planning.learning.learner import Period, rate_estimate, strongest_signal_rate
from cadenza.domain.planning.learning.long_term_rate import GammaRate
from cadenza.domain.planning.learning.run_value import periods_until_worth, run_value
from cadenza.domain.planning.learning.state import EndpointModel, SharedModel

LEAST_PERIODS, MOST_PERIODS = 0.1, 3.0
"""The least and the longest interval, in periods; the latter bounds the worst delays."""
AHEAD = 0.6
"""The point of an interval at which its rate is forecast: later moments count more."""


class Bounds(NamedTuple):
    """The bounds of an interval, in periods."""

    least: float = LEAST_PERIODS
    most: float = MOST_PERIODS


class RateForecast(NamedTuple):
    """The expected rate of changes until the next run, and its parts."""

    long_run: GammaRate
    """The long-run rate; while the endpoint fails, the rate of recovery."""
    recent: float
    """The rate by its latest runs."""
    signal: float
    """The rate by the strongest signal; 0 if there is none."""
    hour_ratio: float
    """The ratio of this hour's rate to the long-run rate."""

    @property
    def rate(self) -> float:
        """The expected changes per period."""
        return max(self.recent, self.signal) * self.hour_ratio


class Proposal(NamedTuple):
    """When to run next, and the quantities that led to it."""

    periods: float
    price: float
    penalty: float
    bounds: Bounds
    forecast: RateForecast

    def at_rate(self, rate: float) -> float:
        """The interval, in periods, for another rate."""
        least, most = self.bounds
        return periods_until_worth(self.price, rate, penalty=self.penalty, least=least, most=most)


def forecast_rate(model: EndpointModel, shared: SharedModel, *, period_s: float, at_s: float) -> RateForecast:
    """The expected rate of changes from a moment on."""
    estimate = rate_estimate(model, shared)
    if model.failing:
        return RateForecast(estimate, estimate.mean, 0.0, 1.0)
    ahead = AHEAD * model.proposed_periods
    recent = model.recent_rate.after_wait(ahead).mean(shared.population.shares, shared.population.weights)
    moment = max(at_s, (model.at_s or at_s) + ahead * period_s)
    signal = strongest_signal_rate(model.strengths(moment, period_s), shared, long_run=estimate.mean)
    return RateForecast(estimate, recent, signal, shared.weekly_pattern.rate_ratio(at_s))


def current_price(shared: SharedModel) -> float:
    """The value that a run must have: the price times the value of a typical run at its baseline."""
    return shared.run_price.price * run_value(shared.long_run.rate, 1.0, penalty=shared.delay_penalty.penalty)


def propose(
    model: EndpointModel, shared: SharedModel, *, period: Period, at_s: float, bounds: Bounds
) -> Proposal:
    """The interval after which a run is worth its price."""
    expected = forecast_rate(model, shared, period_s=period.seconds, at_s=at_s)
    unpriced = Proposal(1.0, current_price(shared), shared.delay_penalty.penalty, bounds, expected)
    return unpriced._replace(periods=unpriced.at_rate(expected.rate))


class ProposalDecision(NamedTuple):
    """A proposal, and the models after it."""

    model: EndpointModel
    shared: SharedModel
    proposal: Proposal


def decide(
    model: EndpointModel, shared: SharedModel, *, period: Period, at_s: float, bounds: Bounds
) -> ProposalDecision:
    """Propose after a run, and adjust the price by the runs that the proposal will take."""
    proposal = propose(model, shared, period=period, at_s=at_s, bounds=bounds)
    allowance = period.allowance * shared.weekly_pattern.budget_share(at_s)
    run_price = shared.run_price.after_proposal(proposal.periods, allowance)
    return ProposalDecision(
        model._replace(proposed_periods=proposal.periods), shared._replace(run_price=run_price), proposal
    )
