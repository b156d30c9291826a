"""Who decides when to look next: the learning planner, and what it is compared with."""

from collections.abc import Callable
from math import exp, sqrt
from typing import NamedTuple, Protocol

from benchmarks.worlds import BEAT_S, GUARD_S, JOB, Hidden, World

from cadenza.domain.planning.learning.learner import Beat, echoed, learned
from cadenza.domain.planning.learning.next_look import beats_worth, worth
from cadenza.domain.planning.learning.proposal import MOST_BEATS, Bounds, decided, proposed
from cadenza.domain.planning.learning.run_price import Purse
from cadenza.domain.planning.learning.state import Known, Look, Pool
from cadenza.domain.planning.learning.stress import damped

LEAST, MOST = GUARD_S
BOUNDS = Bounds(LEAST / BEAT_S, MOST_BEATS)
BEAT = Beat(BEAT_S)


class Seen(NamedTuple):
    """What a look shows to anybody."""

    at: float
    changed: bool
    failing: bool
    latency_ms: float


class Policy(Protocol):
    """Decides after each look when to look again."""

    def look(self, number: int, seen: Seen) -> float:
        """Seconds until the next look at this endpoint."""
        ...

    def hear(self, number: int, at: float) -> float | None:
        """A sibling has changed: the moment of the next look, if that makes it sooner."""
        ...


class Deaf:
    """Does not care about siblings."""

    def hear(self, _number: int, _at: float) -> float | None:
        return None


class Fixed(Deaf):
    """Always the same interval."""

    def __init__(self, interval_s: float = BEAT_S) -> None:
        self._interval_s = interval_s

    def look(self, _number: int, _seen: Seen) -> float:
        return self._interval_s


class Learning:
    """The learning planner's own functions, as the planner calls them."""

    def __init__(self, world: World) -> None:
        self._known = [Known()] * len(world.tracks)
        self.pool = Pool()

    def look(self, number: int, seen: Seen) -> float:
        look = Look(seen.at, seen.changed, seen.failing, {"latency": damped(seen.latency_ms)})
        known, pool = learned(self._known[number], look, pool=self.pool, beat=BEAT)
        after = decided(known, pool, beat=BEAT, at_s=seen.at, bounds=BOUNDS)
        self._known[number], self.pool, proposal = after
        return proposal.beats * BEAT_S

    def hear(self, number: int, at: float) -> float | None:
        known = self._known[number]
        if known.at_s is None:
            return None
        known = self._known[number] = echoed(known, at, beat_s=BEAT_S)
        beats = proposed(known, self.pool, beat=BEAT, at_s=at, bounds=BOUNDS).beats
        return (known.at_s or at) + beats * BEAT_S


class Clairvoyant(Deaf):
    """Knows the true rate of every endpoint at every look, and looks by the square-root law at one price.

    The price is the one at which the whole costs as many runs as everybody has.
    """

    def __init__(self, world: World, runs: int) -> None:
        self._world = world
        lasting: dict[float, float] = {}
        for track in world.tracks:
            for begin, end, rate in track.between(0.0, world.until):
                lasting[rate] = lasting.get(rate, 0.0) + end - begin
        low, high = 1e-9, 1e12
        for _ in range(80):
            self._price = sqrt(low * high)
            spent = sum(span / self._interval(rate) for rate, span in lasting.items())
            low, high = (self._price, high) if spent > runs else (low, self._price)

    def corrected(self, times: float) -> None:
        """Spend so many times fewer runs: the rate may change between two looks."""
        self._price *= times**2

    def _interval(self, rate: float) -> float:
        return min(max(sqrt(2 * self._price / rate), LEAST), MOST) if rate else MOST

    def look(self, number: int, seen: Seen) -> float:
        return self._interval(self._world.tracks[number].rate(seen.at))


class Balanced(Deaf):
    """A shape of intervals, stretched so that as many runs are spent as the baselines would."""

    def __init__(self, shape: Callable[[int, Seen], float], allowance: float) -> None:
        self._shape = shape
        self._allowance = allowance
        self._purse = Purse()
        self._last: dict[int, float] = {}

    def look(self, number: int, seen: Seen) -> float:
        beats = (seen.at - self._last[number]) / BEAT_S if number in self._last else 1.0
        self._last[number] = seen.at
        self._purse = self._purse.ran(seen.at, beats, beat_s=BEAT_S, spent=1.0, allowance=self._allowance)
        stretched = self._shape(number, seen) * exp(self._purse.logarithm / 2)
        interval = min(max(stretched, LEAST), MOST)
        self._purse = self._purse.planned(interval / BEAT_S, self._allowance)
        return interval


def backoff(allowance: float) -> Balanced:
    """Twice as long after every look without a change; from the start again after one."""
    waits: dict[int, float] = {}

    def shape(number: int, seen: Seen) -> float:
        waits[number] = BEAT_S / 8 if seen.changed else min(waits.get(number, BEAT_S) * 2, 8 * BEAT_S)
        return waits[number]

    return Balanced(shape, allowance)


def aimd(allowance: float) -> Balanced:
    """A little longer after every look without a change; half as long after one."""
    waits: dict[int, float] = {}

    def shape(number: int, seen: Seen) -> float:
        before = waits.get(number, BEAT_S)
        waits[number] = before / 2 if seen.changed else before + BEAT_S / 20
        waits[number] = min(max(waits[number], BEAT_S / 10), 4 * BEAT_S)
        return waits[number]

    return Balanced(shape, allowance)


def rules(allowance: float) -> Balanced:
    """What an owner would write: four times as often for half an hour after anything unusual."""
    alert: dict[int, float] = {}

    def shape(number: int, seen: Seen) -> float:
        if seen.changed or seen.failing or seen.latency_ms > 90:
            alert[number] = seen.at + 6 * BEAT_S
        return BEAT_S / 4 if seen.at < alert.get(number, 0.0) else BEAT_S

    return Balanced(shape, allowance)


class Informed:
    """Knows how a world works, but not what nobody can see: whether a spell has begun.

    The exact filter over calm and spell, with the true rates and the true turns; endpoints
    that are struck together share it. Without foresight nobody can do much better.
    """

    def __init__(self, hidden: Hidden, allowance: float) -> None:
        self._hidden = hidden
        self._allowance = allowance
        self._begins, self._ends = BEAT_S / hidden.every, BEAT_S / hidden.lasting
        self._usual = self._begins / (self._begins + self._ends)
        self._purse = Purse()
        self._spell: dict[int, tuple[float, float]] = {}
        self._last: dict[int, float] = {}
        low, high = hidden.low * BEAT_S, hidden.high * BEAT_S
        self._rates = (low, high)
        self._typical = (1 - self._usual) * worth(low, 1.0, impatience=0.0) + self._usual * worth(
            high, 1.0, impatience=0.0
        )

    def look(self, number: int, seen: Seen) -> float:
        group = number // self._hidden.together
        at, spell = self._spell.get(group, (seen.at, self._usual))
        spell = self._later(spell, (seen.at - at) / BEAT_S)
        beats = 1.0
        if number in self._last:
            beats = (seen.at - self._last[number]) / BEAT_S
            calm, high = (exp(-rate * beats) for rate in self._rates)
            if seen.changed:
                calm, high = 1 - calm, 1 - high
            spell = spell * high / (spell * high + (1 - spell) * calm)
        self._spell[group], self._last[number] = (seen.at, spell), seen.at
        self._purse = self._purse.ran(seen.at, beats, beat_s=BEAT_S, spent=1.0, allowance=self._allowance)
        wait = self._beats(number, seen.at)
        self._purse = self._purse.planned(wait, self._allowance)
        return wait * BEAT_S

    def hear(self, number: int, at: float) -> float | None:
        if self._hidden.together < JOB or number not in self._last:
            return None
        return self._last[number] + self._beats(number, at) * BEAT_S

    def _later(self, spell: float, beats: float) -> float:
        return self._usual + (spell - self._usual) * exp(-(self._begins + self._ends) * beats)

    def _beats(self, number: int, at: float) -> float:
        since, spell = self._spell[number // self._hidden.together]
        likely = self._later(spell, (at - since) / BEAT_S + 0.5)
        rate = (1 - likely) * self._rates[0] + likely * self._rates[1]
        price = self._purse.price * self._typical
        return beats_worth(price, rate, impatience=0.0, least=BOUNDS.least, most=BOUNDS.most)
