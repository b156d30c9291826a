"""The interval to propose, and what it would be if less were known."""

from typing import NamedTuple

from cadenza.domain.planning.learning.learner import Beat, belief_of, loudest
from cadenza.domain.planning.learning.long_term_rate import Belief
from cadenza.domain.planning.learning.next_look import beats_worth, worth
from cadenza.domain.planning.learning.state import Known, Pool

LEAST_BEATS, MOST_BEATS = 0.1, 3.0
"""No look comes sooner or later than so many beats: the latter keeps the worst delays short."""
AHEAD = 0.6
"""Where in an interval its hazard is judged: later moments count more."""


class Bounds(NamedTuple):
    """Beats between which an interval may lie."""

    least: float = LEAST_BEATS
    most: float = MOST_BEATS


class Forecast(NamedTuple):
    """How often an endpoint is expected to change until the next look, and why."""

    long_run: Belief
    """By all that was seen of it and its like; of one that fails, its recovery."""
    now: float
    """By its latest looks."""
    sign: float
    """By the loudest sign; 0 if there is none."""
    hour: float
    """So many times more often at this hour."""

    @property
    def rate(self) -> float:
        """Changes per beat, all in all."""
        return max(self.now, self.sign) * self.hour


class Proposal(NamedTuple):
    """When to look again."""

    beats: float
    price: float
    impatience: float
    bounds: Bounds
    forecast: Forecast

    def at_rate(self, rate: float) -> float:
        """The beats that it would be if changes came so often."""
        least, most = self.bounds
        return beats_worth(self.price, rate, impatience=self.impatience, least=least, most=most)


def forecast(known: Known, pool: Pool, *, beat_s: float, at_s: float) -> Forecast:
    """How often it is expected to change from a moment on."""
    belief = belief_of(known, pool)
    if known.failing:
        return Forecast(belief, belief.mean, 0.0, 1.0)
    ahead = AHEAD * known.proposed
    now = known.climb.waited(ahead).mean(pool.usual.shares, pool.usual.weights)
    moment = max(at_s, (known.at_s or at_s) + ahead * beat_s)
    sign = loudest(known.strengths(moment, beat_s), pool, long_run=belief.mean)
    return Forecast(belief, now, sign, pool.hours.times(at_s))


def price_of(pool: Pool) -> float:
    """What a look must be worth: the purse's price, in terms of what a typical one saves at its baseline."""
    return pool.purse.price * worth(pool.long_run.rate, 1.0, impatience=pool.patience.impatience)


def proposed(known: Known, pool: Pool, *, beat: Beat, at_s: float, bounds: Bounds) -> Proposal:
    """When to look again: as soon as that is worth its price."""
    expected = forecast(known, pool, beat_s=beat.seconds, at_s=at_s)
    blank = Proposal(1.0, price_of(pool), pool.patience.impatience, bounds, expected)
    return blank._replace(beats=blank.at_rate(expected.rate))


class Decided(NamedTuple):
    """What is known after a decision, and the decision."""

    known: Known
    pool: Pool
    proposal: Proposal


def decided(known: Known, pool: Pool, *, beat: Beat, at_s: float, bounds: Bounds) -> Decided:
    """Propose after a look, and let the purse know what that will cost."""
    proposal = proposed(known, pool, beat=beat, at_s=at_s, bounds=bounds)
    allowance = beat.allowance * pool.hours.share(at_s)
    purse = pool.purse.planned(proposal.beats, allowance)
    return Decided(known._replace(proposed=proposal.beats), pool._replace(purse=purse), proposal)
