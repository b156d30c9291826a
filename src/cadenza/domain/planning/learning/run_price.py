"""The price of a run: it moves until the runs spent are the runs allowed."""

from math import exp
from typing import NamedTuple

QUICK_BEATS, SLOW_BEATS = 40.0, 288.0
"""Within how many beats a mistaken price is mended: quickly at first, then as slowly as days pass."""
STEEPEST = 12.0
"""How far, as a logarithm, the price may go from what a typical look is worth."""
LARGEST_STEP = 0.1
LONGEST_BEATS = 10.0
"""What earns nothing more: whoever was paused or down for a week has not saved a week's runs."""


class Purse(NamedTuple):
    """What endpoints that share a budget have spent, and what a run costs them now.

    An endpoint that waits earns its allowance, one run a beat if its baseline is the
    budget; a run costs one. The price follows the overdraft and its growth, as a
    critically damped controller does, so that it settles without swinging.
    """

    logarithm: float = 0.0
    overdraft: float = 0.0
    beats: float = 0.0
    """Beats of all its endpoints together within the horizon, older ones fading."""
    weight: float = 0.0
    """How much of a horizon it has been kept."""
    pace_s: float = 0.0
    """How long a beat of its endpoints is."""
    since_s: float = 0.0
    at_s: float = 0.0

    @property
    def price(self) -> float:
        """Of a run, where what a typical one saves at its baseline is 1."""
        return exp(self.logarithm)

    @property
    def size(self) -> float:
        """How many runs the baselines make within the horizon."""
        return max(self.beats / self.weight if self.weight > 0 else 0.0, QUICK_BEATS)

    def allowance(self, budget_per_s: float | None) -> float:
        """Runs allowed per beat: one or, if a budget is given, as many as it has for the baselines' one."""
        if budget_per_s is None or not self.pace_s:
            return 1.0
        return budget_per_s * self._horizon_s / self.size

    @property
    def _horizon_s(self) -> float:
        age = (self.at_s - self.since_s) / 2
        return min(max(age, QUICK_BEATS * self.pace_s), SLOW_BEATS * self.pace_s)

    def ran(self, now_s: float, beats: float, *, beat_s: float, spent: float, allowance: float) -> "Purse":
        """After a run: the beats since its endpoint's last one have earned, and the run has cost."""
        if not self.pace_s:
            return Purse(beats=beats, pace_s=beat_s, since_s=now_s, at_s=now_s)
        kept = exp(-max(now_s - self.at_s, 0.0) / self._horizon_s)
        size = self.size
        overdraft = self.overdraft + spent - min(beats, LONGEST_BEATS) * allowance
        return Purse(
            logarithm=self.logarithm,
            overdraft=min(max(overdraft, -size), size),
            beats=self.beats * kept + min(beats, LONGEST_BEATS),
            weight=self.weight * kept + 1 - kept,
            pace_s=self.pace_s * (beat_s / self.pace_s) ** (beats / (size + beats)),
            since_s=self.since_s,
            at_s=max(now_s, self.at_s),
        )

    def planned(self, beats: float, allowance: float) -> "Purse":
        """After the next run was planned so many beats away."""
        size = self.size
        step = 4 * (1 - beats * allowance) / size + 2 * self.overdraft / size**2
        moved = self.logarithm + min(max(step, -LARGEST_STEP), LARGEST_STEP)
        return self._replace(logarithm=min(max(moved, -STEEPEST), STEEPEST))
