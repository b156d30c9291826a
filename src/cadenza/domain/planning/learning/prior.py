"""How often endpoints change, and how unlike they are: the prior that they lend each other."""

from typing import NamedTuple

from cadenza.domain.planning.learning.long_term_rate import Belief, behind

LEAST_RATE = 1e-6
SHAPES = (0.3, 30.0)
"""How unlike endpoints may be thought to be: from very, to hardly."""
GUESSED_BEATS = 50.0
"""For how long the first guess of their unlikeness counts."""
FULL_BEATS = 500_000.0


class Census(NamedTuple):
    """Changes and beats of all endpoints together, and how their own beliefs scatter."""

    changes: float
    beats: float
    weight: float = 0.0
    mean: float = 0.0
    square: float = 0.0

    @classmethod
    def guess(cls, rate: float) -> "Census":
        """As if one change had been seen, at this rate."""
        return cls(1.0, 1.0 / rate)

    @property
    def rate(self) -> float:
        """Changes per beat of all."""
        return max(self.changes / self.beats, LEAST_RATE)

    def prior(self) -> Belief:
        """What to believe of an endpoint that nobody has looked at."""
        rate, weight = self.rate, self.weight + GUESSED_BEATS
        mean = (self.mean + GUESSED_BEATS * rate) / weight
        square = (self.square + GUESSED_BEATS * 2 * rate * rate) / weight
        variance = max(square - mean * mean, LEAST_RATE**2)
        shape = min(max(mean * mean / variance, SHAPES[0]), SHAPES[1])
        return Belief(shape, shape / rate)

    def counted(self, belief: Belief, beats: float, *, changed: bool) -> "Census":
        """After one look at one endpoint; several changes may hide behind one that is seen."""
        mean = belief.mean
        came = behind(mean * beats) if changed else 0.0
        kept = 1.0 if self.beats < FULL_BEATS else 0.5
        return Census(
            self.changes * kept + came,
            self.beats * kept + beats,
            self.weight * kept + beats,
            self.mean * kept + beats * mean,
            self.square * kept + beats * mean * mean * (1 + 1 / belief.shape),
        )
