"""What learning has gained: the delay of detected changes, with learning and without."""

from typing import NamedTuple

MOST_PERIODS_COUNTED = 10_000.0


class Gains(NamedTuple):
    """Detected changes, runs and summed delays, with learning and on the baseline schedule.

    A change between two runs may have happened at any moment of the gap, so its delay is
    taken as half of the gap. Time in which the endpoint could not run is left out.
    """

    changes: float = 0.0
    periods: float = 0.0
    runs: float = 0.0
    """Runs that learning took, or in shadow mode would have taken."""
    baseline_runs: float = 0.0
    delay_s: float = 0.0
    baseline_delay_s: float = 0.0

    def after_run(
        self, gap: float, *, learned_gap: float, baseline_gap: float, period_s: float, changed: bool
    ) -> "Gains":
        """After a run; gaps are in periods: the actual one, with learning, and without."""
        decay = 1.0 if self.periods < MOST_PERIODS_COUNTED else 0.5
        seen = float(changed)
        return Gains(
            self.changes * decay + seen,
            self.periods * decay + gap,
            self.runs * decay + gap / learned_gap,
            self.baseline_runs * decay + gap / baseline_gap,
            self.delay_s * decay + seen * learned_gap * period_s / 2,
            self.baseline_delay_s * decay + seen * baseline_gap * period_s / 2,
        )

    @property
    def mean_delay_s(self) -> float:
        """The mean delay until a change is detected, with learning."""
        return self.delay_s / self.changes if self.changes else 0.0

    @property
    def baseline_mean_delay_s(self) -> float:
        """The mean delay until a change is detected, without learning."""
        return self.baseline_delay_s / self.changes if self.changes else 0.0

    @property
    def share_of_runs(self) -> float:
        """The runs with learning by the runs without."""
        return self.runs / self.baseline_runs if self.baseline_runs else 1.0
