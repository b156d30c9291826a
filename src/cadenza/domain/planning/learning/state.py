"""What is known of one endpoint, and what endpoints that share a budget know together."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from cadenza.domain.planning.learning import change_signals as signs
from cadenza.domain.planning.learning import stress as figures
from cadenza.domain.planning.learning.change_signals import FIGURES, ITSELF, SIBLINGS, Record, Strengths
from cadenza.domain.planning.learning.gains import Tally
from cadenza.domain.planning.learning.long_term_rate import Evidence
from cadenza.domain.planning.learning.next_look import Patience
from cadenza.domain.planning.learning.prior import Census
from cadenza.domain.planning.learning.recent_rate import Climb, Usual
from cadenza.domain.planning.learning.run_price import Purse
from cadenza.domain.planning.learning.stress import Levels
from cadenza.domain.planning.learning.weekly_pattern import Profile

GUESSED_RATE, GUESSED_RECOVERY = 0.05, 0.1
NO_FIGURES: Mapping[str, float] = MappingProxyType({})
NO_LEVELS: Levels = MappingProxyType({})
NO_RECORDS: Mapping[str, Record] = MappingProxyType({})


class Look(NamedTuple):
    """What one run has shown."""

    at_s: float
    changed: bool = False
    failing: bool = False
    figures: Mapping[str, float] = NO_FIGURES
    held: bool = False
    """It could not come before, whoever planned it: the gate was closed, or nobody was there to run it."""


class Hinted(NamedTuple):
    """A hint that somebody else wrote, taken as a sign."""

    source: str
    until_s: float


class Known(NamedTuple):
    """What is known of one endpoint; all of it fits into a small note."""

    at_s: float | None = None
    """When it was last looked at."""
    failing: bool = False
    climb: Climb = Climb()
    long_run: Evidence = Evidence()
    recovery: Evidence = Evidence()
    stress: float = figures.USUAL
    itself: float = 0.0
    """How much its own latest changes excite it."""
    siblings: float = 0.0
    """How much those of its siblings do."""
    hinted: Hinted | None = None
    levels: Levels = NO_LEVELS
    proposed: float = 1.0
    """The beats that were last proposed."""
    tally: Tally = Tally()

    def strengths(self, at_s: float, beat_s: float) -> Strengths:
        """How strong each sign is at a moment after the last look."""
        beats = max(at_s - (self.at_s or at_s), 0.0) / beat_s
        strengths = {
            FIGURES: figures.calmed(self.stress, beats),
            ITSELF: signs.excited(signs.faded(self.itself, beats)),
            SIBLINGS: signs.excited(signs.faded(self.siblings, beats)),
        }
        if self.hinted is not None:
            over = max(at_s - self.hinted.until_s, 0.0) / beat_s
            strengths[f"hint {self.hinted.source}"] = signs.faded(1.0, over)
        return strengths


class Pool(NamedTuple):
    """What endpoints that share a budget have learned together, and what they have spent."""

    usual: Usual = Usual()
    long_run: Census = Census.guess(GUESSED_RATE)
    recovery: Census = Census.guess(GUESSED_RECOVERY)
    signs: Mapping[str, Record] = NO_RECORDS
    hours: Profile = Profile()
    purse: Purse = Purse()
    patience: Patience = Patience()
    tally: Tally = Tally()

    def record(self, sign: str) -> Record:
        """How often a sign has been right."""
        return self.signs.get(sign, signs.NO_RECORD)
