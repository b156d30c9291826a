"""The probability that an endpoint is stressed, from metrics that stray before anything changes."""

from collections.abc import Mapping
from math import exp, isfinite, log1p, sqrt
from typing import NamedTuple

USUAL_STRESS = 0.1
"""The probability of stress without any data."""
STRESS_PERIODS = 12.0
"""How long stress lasts without further signs of it."""
STRESSED_SCALE = 4.0
"""The scale of a stressed endpoint's metrics relative to a calm one's, until they are known."""
PRIOR_SCORES, MOST_SCORES = 5.0, 2_000.0
"""How many scores it takes until what stress looks like is known, and when half of them is forgotten."""
STRESSED = 0.5
OUTLIER_SHARE = 0.005
"""The share of values that belong to the other state, so that no single one decides."""
LEAST_PROBABILITY = 1e-4
MOST_SCORE_TO_LEARN = 3.0
MOST_SCORE = 30.0
LEARNING_RATE = 0.02
LEAST_WEIGHT = 0.05
USUAL_DEVIATION = 0.8
"""The mean absolute deviation of a normal distribution with scale 1."""
LEAST_SCALE = 1e-3
LEAST_VALUES = 8
"""How many values a level needs before it is used."""
QUICK_VALUES = 20
MOST_METRICS = 20


class MetricLevel(NamedTuple):
    """The usual center and scale of a metric; outliers hardly move it."""

    center: float
    scale: float
    seen: int = 1

    @classmethod
    def initial(cls, value: float) -> "MetricLevel":
        """From a single value."""
        return cls(value, max(abs(value) * 0.1, LEAST_SCALE))

    def score(self, value: float) -> float:
        """The distance from the center, in scales."""
        return min(abs(value - self.center) / self.scale, MOST_SCORE)

    def updated(self, value: float, weight: float) -> "MetricLevel":
        """After another value: quick at first, then slow, and even slower while the endpoint is stressed."""
        score = min(max((value - self.center) / self.scale, -MOST_SCORE_TO_LEARN), MOST_SCORE_TO_LEARN)
        learning_rate = 1 / (self.seen + 1) if self.seen < QUICK_VALUES else LEARNING_RATE * weight
        center = self.center + learning_rate * self.scale * score
        scale = self.scale * exp(learning_rate * (abs(score) - USUAL_DEVIATION))
        return MetricLevel(
            center,
            max(scale, LEAST_SCALE, LEAST_SCALE * abs(center)),
            min(self.seen + 1, LEAST_VALUES * QUICK_VALUES),
        )


MetricLevels = Mapping[str, MetricLevel]


class StressedScores(NamedTuple):
    """How far the most unusual metric of stressed endpoints is from its usual center: sums over runs."""

    runs: float = PRIOR_SCORES
    scores: float = 0.0
    squares: float = PRIOR_SCORES * STRESSED_SCALE**2

    def density(self, score: float) -> float:
        """The density of a score under stress; it is spread no less than that of a calm endpoint."""
        mean = self.scores / self.runs
        variance = max(self.squares / self.runs - mean * mean, 1.0)
        return exp(-((score - mean) ** 2) / (2 * variance)) / sqrt(variance)

    def plus(self, score: float) -> "StressedScores":
        """With the score of another run under stress; when it is full, half of the older is forgotten."""
        decay = 1.0 if self.runs < MOST_SCORES else 0.5
        return StressedScores(
            self.runs * decay + 1, self.scores * decay + score, self.squares * decay + score * score
        )


class StressUpdate(NamedTuple):
    """The probability of stress after a run, and what stress looks like."""

    stress: float
    stressed_scores: StressedScores


def log_scaled(value: float) -> float:
    """A value on a logarithmic scale, signed; near zero it is linear."""
    if not isfinite(value):
        return 0.0
    return log1p(abs(value)) * (1.0 if value >= 0 else -1.0)


def decayed_stress(stress: float, periods: float) -> float:
    """The probability of stress so many periods later without data: it reverts to the usual."""
    return USUAL_STRESS + (stress - USUAL_STRESS) * exp(-periods / STRESS_PERIODS)


def stress_after(
    stress: float,
    metrics: Mapping[str, float],
    *,
    levels: MetricLevels,
    stressed_scores: StressedScores,
) -> StressUpdate:
    """The probability of stress after a run, by the likelihood ratio of its most unusual metric.

    Only runs that were probably under stress teach what that looks like.
    """
    scores = [
        levels[name].score(value)
        for name, value in metrics.items()
        if name in levels and levels[name].seen >= LEAST_VALUES
    ]
    if not scores:
        return StressUpdate(stress, stressed_scores)
    highest = max(scores)
    ratio = _likelihood_ratio(highest, stressed_scores)
    if ratio > 1:
        ratio = max(ratio / len(scores), 1.0)
    odds = stress / (1 - stress) * ratio
    after = min(max(odds / (1 + odds), LEAST_PROBABILITY), 1 - LEAST_PROBABILITY)
    return StressUpdate(after, stressed_scores.plus(highest) if after >= STRESSED else stressed_scores)


def _likelihood_ratio(score: float, stressed_scores: StressedScores) -> float:
    calm, stressed = exp(-(score**2) / 2), stressed_scores.density(score)
    return ((1 - OUTLIER_SHARE) * stressed + OUTLIER_SHARE * calm) / (
        (1 - OUTLIER_SHARE) * calm + OUTLIER_SHARE * stressed
    )


def levels_after(
    levels: MetricLevels, metrics: Mapping[str, float], *, periods: float, stress: float
) -> MetricLevels:
    """The levels after a run; values under stress count less, so that they do not become the usual ones."""
    weight = min(periods, 1.0) * max(1 - stress, LEAST_WEIGHT)
    updated_levels = {
        name: levels[name].updated(value, weight) if name in levels else MetricLevel.initial(value)
        for name, value in metrics.items()
    }
    unseen = {name: level for name, level in levels.items() if name not in updated_levels}
    return dict([*updated_levels.items(), *unseen.items()][:MOST_METRICS])
