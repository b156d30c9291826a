"""How often something changes in the long run: what looks have shown, and what may be believed."""

from math import expm1, log1p, sqrt
from typing import NamedTuple

SMALLEST = 1e-12


class Evidence(NamedTuple):
    """What looks have shown: changes, and the beats in which they could have happened."""

    changes: float = 0.0
    beats: float = 0.0

    def plus(self, more: "Evidence", *, kept: float = 1.0) -> "Evidence":
        """Both together, when only a share of the older still counts."""
        return Evidence(self.changes * kept + more.changes, self.beats * kept + more.beats)


class Belief(NamedTuple):
    """A Gamma distribution of the changes per beat."""

    shape: float
    beats: float

    @property
    def mean(self) -> float:
        """Changes per beat, as far as is known."""
        return self.shape / self.beats

    @property
    def deviation(self) -> float:
        """How uncertain the mean is."""
        return sqrt(self.shape) / self.beats

    def after(self, evidence: Evidence) -> "Belief":
        """The belief of somebody who has seen this."""
        return Belief(self.shape + evidence.changes, self.beats + evidence.beats)


def shown(belief: Belief, beats: float, *, changed: bool) -> Evidence:
    """What one look adds to a belief, `beats` after the last.

    Nothing changed: so many beats without a change. Something changed, once or more often:
    the Gamma distribution with the mean and the variance of the exact posterior, which adds
    a whole change after a short gap and next to nothing after a long one.
    """
    if not changed or beats <= 0:
        return Evidence(0.0, max(beats, 0.0))
    shape, before = belief
    shrunk = -log1p(beats / before)
    seen = -expm1(shape * shrunk)
    if seen < SMALLEST:
        return Evidence(1.0, beats / 2)
    mean = belief.mean * -expm1((shape + 1) * shrunk) / seen
    square = belief.mean * (shape + 1) / before * -expm1((shape + 2) * shrunk) / seen
    variance = square - mean * mean
    if variance <= mean * mean * SMALLEST:
        return Evidence(1.0, beats / 2)
    changes = min(max(mean * mean / variance - shape, 0.0), 1.0)
    return Evidence(changes, min(max(mean / variance - before, 0.0), beats))


def behind(likely: float) -> float:
    """How many changes hide behind one that is seen, where so many are likely: at least that one."""
    return likely / -expm1(-likely) if likely > SMALLEST else 1.0
