"""Signs that a change is near, and how often each has been right."""

from collections.abc import Mapping
from math import exp, sqrt
from typing import NamedTuple

LASTS_BEATS = 6.0
"""How long a change excites: its own endpoint, and its siblings."""
GUESSED = 3.0
"""How many changes it takes until a sign is believed more than doubted."""
LOUD = 1.5
"""A sign counts when changes come so many times more often than in the long run, and than without it."""
FULL = 1_000.0
KNOTS = 5
MOST_SIGNS = 12

FIGURES, ITSELF, SIBLINGS = "figures", "itself", "siblings"
Strengths = Mapping[str, float]
"""How strong each sign is, from 0 to 1."""


class Knot(NamedTuple):
    """What came when a sign was about so strong: changes, those due by the long-run rate alone, and beats."""

    came: float = 0.0
    due: float = 0.0
    beats: float = 0.0

    @property
    def times(self) -> float:
        """How many times more often changes came than in the long run; once, until there is evidence."""
        return (self.came + GUESSED) / (self.due + GUESSED)

    def plus(self, share: float, seen: "Knot") -> "Knot":
        """With another look, as far as it belongs here; when it is full, half of the older is forgotten."""
        kept = 1.0 if self.due + self.came < FULL else 0.5
        came, due, beats = self
        return Knot(
            came * kept + share * seen[0], due * kept + share * seen[1], beats * kept + share * seen[2]
        )


Record = tuple[Knot, ...]
"""The track record of one sign: a knot for each quarter of its strength."""
NO_RECORD: Record = (Knot(),) * KNOTS


def meant(record: Record, strength: float, *, long_run: float) -> float:
    """The rate that a sign of this strength has meant; 0 if it has not been right often enough.

    Half by what it has meant compared with the long run, half by what it has meant in itself.
    """
    lower, beyond = _place(strength)
    below, above = record[lower], record[lower + 1]
    times = below.times * (1 - beyond) + above.times * beyond
    if times <= LOUD * max(record[0].times, 1.0):
        return 0.0
    came = below.came * (1 - beyond) + above.came * beyond
    beats = below.beats * (1 - beyond) + above.beats * beyond
    return sqrt(times * long_run * came / beats) if beats > 0 else times * long_run


def recorded(record: Record, strength: float, *, seen: Knot) -> Record:
    """The record after a look."""
    lower, beyond = _place(strength)
    knots = list(record)
    knots[lower] = knots[lower].plus(1 - beyond, seen)
    knots[lower + 1] = knots[lower + 1].plus(beyond, seen)
    return tuple(knots)


def _place(strength: float) -> tuple[int, float]:
    """Between which knots a strength lies: the lower one, and how far beyond it."""
    scaled = strength * (KNOTS - 1)
    lower = int(scaled)
    return (lower, scaled - lower) if lower < KNOTS - 1 else (KNOTS - 2, 1.0)


def excited(excitement: float) -> float:
    """Any number of changes, as a strength."""
    return excitement / (1 + excitement)


def faded(excitement: float, beats: float) -> float:
    return excitement * exp(-beats / LASTS_BEATS)
