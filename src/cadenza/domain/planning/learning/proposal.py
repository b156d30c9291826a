"""The interval to propose, and what it would be with less information."""

from typing import NamedTuple

from cadenza.domain.planning.learning.calibration import Calibration, ForecastComparison
from cadenza.domain.planning.learning.caution import MOST_LIMIT, LateCost
from cadenza.domain.planning.learning.change_signals import signal_rates
from cadenza.domain.planning.learning.learner import Period, rate_estimate
from cadenza.domain.planning.learning.long_term_rate import GammaRate
from cadenza.domain.planning.learning.run_value import periods_until_worth, run_value
from cadenza.domain.planning.learning.state import EndpointModel, SharedModel

LEAST_PERIODS, MOST_PERIODS = 0.1, MOST_LIMIT
"""The least and the longest interval, in periods; the latter bounds the worst delays."""
AHEAD = 0.6
"""The point of an interval at which its rate is forecast: later moments count more."""


class Bounds(NamedTuple):
    """The bounds of an interval, in periods."""

    least: float = LEAST_PERIODS
    most: float = MOST_PERIODS


class JobForecast(NamedTuple):
    """The rate by the runs of all endpoints of its job, if that is higher, and how far it is believed."""

    rate: float = 0.0
    comparison: ForecastComparison = ForecastComparison()


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
    calibration: Calibration | None = None
    """What such forecasts came to; None where that is not recorded, as for recoveries."""
    job: JobForecast | None = None
    """The rate by the runs of its job; None where that is not believed, and of recoveries."""

    @property
    def uncorrected(self) -> float:
        """The expected changes per period, before the forecast's own record corrects it."""
        job = self.job
        recent = self.recent if job is None else job.comparison.mixed(self.recent, job.rate)
        return max(recent, self.signal) * self.hour_ratio

    @property
    def rate(self) -> float:
        """The expected changes per period."""
        uncorrected = self.uncorrected
        return uncorrected if self.calibration is None else self.calibration.corrected(uncorrected)


class Proposal(NamedTuple):
    """When to run next, and the quantities that led to it."""

    periods: float
    price: float
    late: LateCost
    bounds: Bounds
    """Those that caution allows."""
    forecast: RateForecast
    widest: Bounds = Bounds()
    """Those that the guard allows."""

    def at_rate(self, rate: float) -> float:
        """The interval, in periods, for another rate."""
        least, most = self.bounds
        return periods_until_worth(self.price, rate, least=least, most=most, late=self.late)

    def without_caution(self) -> float:
        """The interval, in periods, if late changes cost no more than their delay."""
        return self._replace(late=LateCost(), bounds=self.widest).at_rate(self.forecast.rate)


def forecast_rate(model: EndpointModel, shared: SharedModel, *, period_s: float, at_s: float) -> RateForecast:
    """The expected rate of changes from a moment on."""
    estimate = rate_estimate(model, shared)
    if model.failing:
        return RateForecast(estimate, estimate.mean, 0.0, 1.0)
    ahead = AHEAD * model.proposed_periods
    shares = shared.population.shares
    recent = model.recent_rate.mean(shares, shared.population.weights, ahead=ahead)
    moment = max(at_s, (model.at_s or at_s) + ahead * period_s)
    job = None
    if shared.jobs.counts:
        job = JobForecast(max(recent, shared.job.mean(shares, moment, period_s=period_s)), shared.jobs)
    strengths, hour_ratio = model.strengths(moment, period_s), shared.hour_ratio(at_s)
    signal = signal_rates(shared.signal_records, strengths, long_run=estimate.mean).strongest
    return RateForecast(estimate, recent, signal, hour_ratio, shared.calibration, job)


def current_price(shared: SharedModel) -> float:
    """The value that a run must have: the price times the value of a typical run at its baseline."""
    return shared.run_price.price * run_value(shared.long_run.rate, 1.0)


def cautious(bounds: Bounds, shared: SharedModel, *, allowance: float) -> Bounds:
    """Bounds with the longest interval that caution allows."""
    most = max(min(bounds.most, shared.caution.limit / allowance), bounds.least)
    return Bounds(most if shared.caution.keeps_pace else bounds.least, most)


def propose(
    model: EndpointModel, shared: SharedModel, *, period: Period, at_s: float, bounds: Bounds
) -> Proposal:
    """The interval after which a run is worth its price."""
    expected = forecast_rate(model, shared, period_s=period.seconds, at_s=at_s)
    within = cautious(bounds, shared, allowance=period.allowance)
    price, late = current_price(shared), shared.caution.late_cost(period.allowance)
    periods = periods_until_worth(price, expected.rate, least=within.least, most=within.most, late=late)
    return Proposal(periods, price, late, within, expected, bounds)


class ProposalDecision(NamedTuple):
    """A proposal, and the models after it."""

    model: EndpointModel
    shared: SharedModel
    proposal: Proposal


def decide(
    model: EndpointModel, shared: SharedModel, *, period: Period, at_s: float, bounds: Bounds
) -> ProposalDecision:
    """Propose after a run, and adjust the price by the runs that the proposal will take.

    While the fixed pace is kept, the price follows what would be proposed otherwise.
    """
    proposal = propose(model, shared, period=period, at_s=at_s, bounds=bounds)
    allowance = period.allowance * shared.budget_share(at_s)
    planned = proposal.without_caution() if shared.caution.keeps_pace else proposal.periods
    run_price = shared.run_price.after_proposal(planned, allowance)
    return ProposalDecision(
        model._replace(proposed_periods=proposal.periods), shared._replace(run_price=run_price), proposal
    )
