"""How much worse a late discovery is than an early one: as much as keeps late ones rare."""

from math import exp, log
from typing import NamedTuple

LATE_BEATS = 1.0
"""A change is seen late if its endpoint's own baseline would have seen it by then."""
RARE = 0.05
"""The share of changes that may be seen late."""
STEP = 0.2
LEAST, MOST = -4.0, 2.0


class Patience(NamedTuple):
    """The logarithm of the impatience: what a delay of one beat costs beyond its length.

    Without impatience, looks go where the mean delay shrinks most, and those who change
    rarely are seen later still. It grows with every change that was seen late, and fades
    with those that were not, so that in the long run one in twenty is late.
    """

    logarithm: float = -1.0

    @property
    def impatience(self) -> float:
        """As a factor."""
        return exp(self.logarithm)

    def seen(self, beats: float, *, announced: bool = False) -> "Patience":
        """After a change that came at any moment of so many beats.

        One that was announced within them, also at any moment, came after that.
        """
        late = 0.0
        if beats > LATE_BEATS:
            over = beats - LATE_BEATS
            late = (over - LATE_BEATS * log(beats / LATE_BEATS) if announced else over) / beats
        return Patience(min(max(self.logarithm + STEP * (late - RARE), LEAST), MOST))
