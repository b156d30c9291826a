"""Calm or stressed: what an endpoint's figures say before anything changes."""

from collections.abc import Mapping
from math import exp, isfinite, log1p
from typing import NamedTuple

USUAL = 0.1
"""The probability of stress where nothing is known."""
LASTS_BEATS = 12.0
"""How long stress lasts when nothing feeds it."""
WIDER = 4.0
"""How much wider the figures of a stressed endpoint scatter."""
STRAY = 0.005
"""The share of wild figures that calm endpoints have too, so that no single figure decides."""
SURE = 1e-4
CLIPPED = 3.0
WILDEST = 30.0
PACE = 0.02
LEAST_PACE = 0.05
USUAL_DEVIATION = 0.8
"""The mean absolute deviation of a normal distribution with scale 1."""
LEAST_SCALE = 1e-3
ENOUGH = 8
"""How many values make a level."""
QUICK = 20
MOST_FIGURES = 20


class Level(NamedTuple):
    """Where a figure usually lies, and how far it usually strays; wild values hardly move it."""

    middle: float
    scale: float
    seen: int = 1

    @classmethod
    def first(cls, value: float) -> "Level":
        """From a single value."""
        return cls(value, max(abs(value) * 0.1, LEAST_SCALE))

    def score(self, value: float) -> float:
        """How many scales away from its middle, whichever way."""
        return min(abs(value - self.middle) / self.scale, WILDEST)

    def moved(self, value: float, weight: float) -> "Level":
        """After another value: quick at first, then slow, and slower still while the endpoint is stressed."""
        score = min(max((value - self.middle) / self.scale, -CLIPPED), CLIPPED)
        pace = 1 / (self.seen + 1) if self.seen < QUICK else PACE * weight
        middle = self.middle + pace * self.scale * score
        scale = self.scale * exp(pace * (abs(score) - USUAL_DEVIATION))
        return Level(
            middle, max(scale, LEAST_SCALE, LEAST_SCALE * abs(middle)), min(self.seen + 1, ENOUGH * QUICK)
        )


Levels = Mapping[str, Level]


def damped(value: float) -> float:
    """A figure on a scale on which times count, not differences; small ones stay as they are."""
    if not isfinite(value):
        return 0.0
    return log1p(abs(value)) * (1.0 if value >= 0 else -1.0)


def calmed(stress: float, beats: float) -> float:
    """The probability of stress so many beats later, if nothing is heard: it goes back to the usual."""
    return USUAL + (stress - USUAL) * exp(-beats / LASTS_BEATS)


def heard(stress: float, levels: Levels, figures: Mapping[str, float]) -> float:
    """The probability of stress after a look: its odds times the likelihood ratio of the loudest figure."""
    scores = [
        levels[name].score(value)
        for name, value in figures.items()
        if name in levels and levels[name].seen >= ENOUGH
    ]
    if not scores:
        return stress
    loudest = max(scores)
    calm, wide = exp(-(loudest**2) / 2), exp(-((loudest / WIDER) ** 2) / 2) / WIDER
    ratio = wide / ((1 - STRAY) * calm + STRAY * wide)
    if ratio > 1:
        ratio = max(ratio / len(scores), 1.0)
    odds = stress / (1 - stress) * ratio
    return min(max(odds / (1 + odds), SURE), 1 - SURE)


def settled(levels: Levels, figures: Mapping[str, float], *, beats: float, stress: float) -> Levels:
    """The levels after a look; what stress does to figures must not become what is usual."""
    weight = min(beats, 1.0) * max(1 - stress, LEAST_PACE)
    known = {
        name: levels[name].moved(value, weight) if name in levels else Level.first(value)
        for name, value in figures.items()
    }
    gone = {name: level for name, level in levels.items() if name not in known}
    return dict([*known.items(), *gone.items()][:MOST_FIGURES])
