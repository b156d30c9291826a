"""The model of one endpoint, and the model that endpoints with a common budget share."""

# Durations are counted in periods: one period is the endpoint's own baseline interval. So nothing in
# this folder knows seconds, and endpoints with different intervals learn from each other.

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from cadenza.domain.planning.learning.calibration import DOUBTED, Calibration, ForecastComparison
from cadenza.domain.planning.learning.caution import Caution
from cadenza.domain.planning.learning.change_signals import (
    EMPTY_RECORD,
    OWN_CHANGES,
    SIBLING_CHANGES,
    STRESS_SIGNAL,
    SignalRecord,
    SignalRecords,
    SignalStrengths,
    decayed,
    excitation_strength,
)
from cadenza.domain.planning.learning.gains import Gains
from cadenza.domain.planning.learning.long_term_rate import Evidence, RatePrior
from cadenza.domain.planning.learning.recent_rate import JobRate, PopulationRates, RecentRate
from cadenza.domain.planning.learning.run_price import RunPrice
from cadenza.domain.planning.learning.stress import (
    USUAL_STRESS,
    MetricLevels,
    StressedScores,
    decayed_stress,
)
from cadenza.domain.planning.learning.weekly_pattern import WeeklyPattern

PRIOR_CHANGE_RATE, PRIOR_RECOVERY_RATE = 0.05, 0.1
NO_METRICS: Mapping[str, float] = MappingProxyType({})
NO_LEVELS: MetricLevels = MappingProxyType({})
NO_SIGNAL_RECORDS: SignalRecords = MappingProxyType({})


class Observation(NamedTuple):
    """What one run has shown."""

    at_s: float
    changed: bool = False
    failing: bool = False
    metrics: Mapping[str, float] = NO_METRICS
    delayed: bool = False
    """It could not run earlier: the endpoint was paused or out of quota, or no worker was running."""


class ForeignHint(NamedTuple):
    """A hint that another planner or a person wrote, used as a signal."""

    source: str
    until_s: float


class EndpointModel(NamedTuple):
    """What was learned about one endpoint; it fits into a small note."""

    at_s: float | None = None
    """The time of its last observation."""
    failing: bool = False
    recent_rate: RecentRate = RecentRate()
    long_run: Evidence = Evidence()
    recovery: Evidence = Evidence()
    stress: float = USUAL_STRESS
    own_excitation: float = 0.0
    """The excitation by its own latest changes."""
    sibling_excitation: float = 0.0
    """The excitation by its siblings' latest changes."""
    foreign_hint: ForeignHint | None = None
    levels: MetricLevels = NO_LEVELS
    proposed_periods: float = 1.0
    """The interval that was last proposed."""
    gains: Gains = Gains()

    def strengths(self, at_s: float, period_s: float) -> SignalStrengths:
        """How strong each signal is at a moment after the last observation."""
        periods = max(at_s - (self.at_s or at_s), 0.0) / period_s
        strengths = {
            STRESS_SIGNAL: decayed_stress(self.stress, periods),
            OWN_CHANGES: excitation_strength(decayed(self.own_excitation, periods)),
            SIBLING_CHANGES: excitation_strength(decayed(self.sibling_excitation, periods)),
        }
        if self.foreign_hint is not None:
            expired = max(at_s - self.foreign_hint.until_s, 0.0) / period_s
            strengths[f"hint {self.foreign_hint.source}"] = decayed(1.0, expired)
        return strengths


class SharedModel(NamedTuple):
    """What endpoints with a common budget have learned together, and the price of a run for them."""

    population: PopulationRates = PopulationRates()
    long_run: RatePrior = RatePrior.initial(PRIOR_CHANGE_RATE)
    recovery: RatePrior = RatePrior.initial(PRIOR_RECOVERY_RATE)
    signal_records: SignalRecords = NO_SIGNAL_RECORDS
    weekly_pattern: WeeklyPattern = WeeklyPattern()
    run_price: RunPrice = RunPrice()
    caution: Caution = Caution()
    gains: Gains = Gains()
    calibration: Calibration = Calibration()
    stressed_scores: StressedScores = StressedScores()
    hours: ForecastComparison = ForecastComparison()
    """Whether forecasts are better by the hours of the week."""
    jobs: ForecastComparison = ForecastComparison(DOUBTED)
    """Whether forecasts are better by what the endpoints of a job show together."""
    job: JobRate = JobRate()
    """The rate of one job: that of the endpoint at hand."""

    def record(self, signal: str) -> SignalRecord:
        """The track record of a signal."""
        return self.signal_records.get(signal, EMPTY_RECORD)

    def hour_ratio(self, at_s: float) -> float:
        """The rate at this hour by the long-run rate, as far as hours are believed."""
        return self.hours.believed(self.weekly_pattern.rate_ratio(at_s)) if self.hours.counts else 1.0

    def budget_share(self, at_s: float) -> float:
        """The budget at this hour by the mean budget, as far as hours are believed."""
        return self.hours.mixed(1.0, self.weekly_pattern.budget_share(at_s)) if self.hours.counts else 1.0
