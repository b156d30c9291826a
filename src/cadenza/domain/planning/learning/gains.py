"""What learning has won: how late changes were seen, and how late they would have been otherwise."""

from typing import NamedTuple

FULL = 10_000.0


class Tally(NamedTuple):
    """Changes that were seen, and the mean of how late, both ways; in beats and in seconds.

    A change between two looks may have come at any moment of the gap, so it is taken to
    have waited for half of it. Time in which nobody could look is left out.
    """

    changes: float = 0.0
    beats: float = 0.0
    looks: float = 0.0
    """Looks that learning took, or would have taken, in so many beats."""
    plain_looks: float = 0.0
    delay_s: float = 0.0
    plain_delay_s: float = 0.0

    def looked(self, gap: float, *, learned: float, plain: float, beat_s: float, changed: bool) -> "Tally":
        """After a gap, where looks are so many beats apart with learning, and so many without."""
        kept = 1.0 if self.beats < FULL else 0.5
        seen = float(changed)
        return Tally(
            self.changes * kept + seen,
            self.beats * kept + gap,
            self.looks * kept + gap / learned,
            self.plain_looks * kept + gap / plain,
            self.delay_s * kept + seen * learned * beat_s / 2,
            self.plain_delay_s * kept + seen * plain * beat_s / 2,
        )

    @property
    def mean_delay_s(self) -> float:
        """How late a change is seen with learning."""
        return self.delay_s / self.changes if self.changes else 0.0

    @property
    def plain_mean_delay_s(self) -> float:
        """How late a change is seen without it."""
        return self.plain_delay_s / self.changes if self.changes else 0.0

    @property
    def share_of_looks(self) -> float:
        """The looks it takes, where the schedule without it takes 1."""
        return self.looks / self.plain_looks if self.plain_looks else 1.0
