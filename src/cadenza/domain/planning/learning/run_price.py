"""The price of a run: it moves until the runs spent are the runs allowed."""

from math import exp
from typing import NamedTuple

QUICK_PERIODS, SLOW_PERIODS = 40.0, 288.0
"""Within how many periods a wrong price is corrected: quickly at first, later over days."""
MOST_LOG_PRICE = 12.0
"""How far, as a logarithm, the price may be from the value of a typical run."""
LARGEST_STEP = 0.1
LONGEST_PERIODS = 10.0
"""A longer gap earns no more: an endpoint that was paused for a week has not saved a week's runs."""


class RunPrice(NamedTuple):
    """The price of a run for endpoints that share a budget, and their balance.

    A waiting endpoint earns its allowance, one run a period if its baseline is the
    budget; a run costs one. The price follows the overdraft and its growth, as a
    critically damped controller does, so that it settles without oscillation.
    """

    log_price: float = 0.0
    overdraft: float = 0.0
    periods: float = 0.0
    """Periods of all its endpoints together within the horizon, older ones weighted less."""
    weight: float = 0.0
    """The part of the horizon that has been observed."""
    mean_period_s: float = 0.0
    """The mean period of its endpoints."""
    began_s: float = 0.0
    at_s: float = 0.0

    @property
    def price(self) -> float:
        """The price of a run, in units of a typical run's value at its baseline."""
        return exp(self.log_price)

    @property
    def size(self) -> float:
        """The number of baseline runs within the horizon."""
        return max(self.periods / self.weight if self.weight > 0 else 0.0, QUICK_PERIODS)

    def allowance(self, budget_per_s: float | None) -> float:
        """Runs allowed per period: one or, if a budget is given, the budget by the baseline runs."""
        if budget_per_s is None or not self.mean_period_s:
            return 1.0
        return budget_per_s * self._horizon_s / self.size

    @property
    def _horizon_s(self) -> float:
        age = (self.at_s - self.began_s) / 2
        return min(max(age, QUICK_PERIODS * self.mean_period_s), SLOW_PERIODS * self.mean_period_s)

    def after_run(
        self, now_s: float, periods: float, *, period_s: float, spent: float, allowance: float
    ) -> "RunPrice":
        """After a run: the periods since its endpoint's last run earn, and the run costs."""
        if not self.mean_period_s:
            return RunPrice(periods=periods, mean_period_s=period_s, began_s=now_s, at_s=now_s)
        decay = exp(-max(now_s - self.at_s, 0.0) / self._horizon_s)
        size = self.size
        overdraft = self.overdraft + spent - min(periods, LONGEST_PERIODS) * allowance
        return RunPrice(
            log_price=self.log_price,
            overdraft=min(max(overdraft, -size), size),
            periods=self.periods * decay + min(periods, LONGEST_PERIODS),
            weight=self.weight * decay + 1 - decay,
            mean_period_s=self.mean_period_s
            * (period_s / self.mean_period_s) ** (periods / (size + periods)),
            began_s=self.began_s,
            at_s=max(now_s, self.at_s),
        )

    def after_proposal(self, periods: float, allowance: float) -> "RunPrice":
        """After the next run was proposed so many periods ahead."""
        size = self.size
        step = 4 * (1 - periods * allowance) / size + 2 * self.overdraft / size**2
        moved = self.log_price + min(max(step, -LARGEST_STEP), LARGEST_STEP)
        return RunPrice(min(max(moved, -MOST_LOG_PRICE), MOST_LOG_PRICE), *self[1:])
