"""The best allocation that needs no foresight: by one who knows how a world works, and what looks show."""

from collections.abc import Iterator, Sequence
from math import exp, log, sqrt
from typing import NamedTuple

from benchmarks.laws import Law, drawn_once
from benchmarks.policies import Seen
from benchmarks.worlds import JOB, LATENCY_MS, LATENCY_SPREAD, World

STEPS = 14
LATE = 0.95
"""A delay is late if it is longer than this part of a fixed pace's interval, where one in twenty is."""
LEAST, LEAST_TURNED = 1e-12, 1e-3


class Prices(NamedTuple):
    """What a look costs, and what a late change costs beside its delay; a second of delay costs one."""

    look: float
    late: float = 0.0
    late_after: float = 0.0


class Outlook(NamedTuple):
    """The expected rate of changes from now on: where it begins, where it tends to, and how fast."""

    now: float
    usual: float
    redraws: float

    def harm(self, seconds: float, prices: Prices) -> float:
        """What is lost if the next look is so far off, as far as another look would spare it.

        With the rate r(s), this is the integral of s·r(s), and after the gap from which on changes
        are late, that of their cost: a look is due when it is worth the price of a look.
        """
        usual, excess, redraws = self.usual, self.now - self.usual, self.redraws
        turned = redraws * seconds
        if turned > LEAST_TURNED:
            extra = excess * (1 - exp(-turned) * (1 + turned)) / redraws**2
        else:
            extra = excess * seconds**2 / 2
        harm = usual * seconds**2 / 2 + extra
        return harm + prices.late * prices.late_after * self.now if seconds > prices.late_after else harm

    def interval(self, prices: Prices, least: float, most: float) -> float:
        """After how many seconds a look is worth its price, within bounds; by bisection."""
        if self.harm(most, prices) <= prices.look:
            return most
        low, high = least, most
        for _ in range(STEPS):
            middle = sqrt(low * high)
            low, high = (middle, high) if self.harm(middle, prices) < prices.look else (low, middle)
        return low


class Informed:
    """Knows the law of a world, and by Bayes' rule what the looks so far say of each endpoint's rate.

    It does not know what was drawn: neither the rate that an endpoint has, nor when that becomes
    another one, nor the changes. Looks come when they are worth their price; prices are given for
    each endpoint.
    """

    def __init__(self, world: World, prices: Sequence[Prices]) -> None:
        law = self._law = world.law or drawn_once((0.0,))
        self._prices = prices
        self._least, self._most = world.timing.guard_s
        groups = -(-len(world.tracks) // law.together)
        self._beliefs = [law.first] * groups
        self._at = [0.0] * groups
        self._last = [0.0] * len(world.tracks)
        self._failing = [False] * len(world.tracks)
        self._usual = _mean(law.shares, law.rates)

    def look(self, number: int, seen: Seen) -> float:
        self._learn(number, seen)
        self._last[number], self._failing[number] = seen.at, seen.failing
        return self._interval(number, seen.at)

    def on_sibling_change(self, number: int, at: float) -> float | None:
        if self._law.together < JOB:
            return None
        self._advance(number // self._law.together, at)
        return self._last[number] + self._interval(number, at)

    def _learn(self, number: int, seen: Seen) -> None:
        group = number // self._law.together
        self._advance(group, seen.at)
        weights = [
            belief * likelihood
            for belief, likelihood in zip(self._beliefs[group], self._likelihoods(number, seen), strict=True)
        ]
        total = sum(weights)
        if total > 0:
            self._beliefs[group] = tuple([max(one / total, LEAST) for one in weights])

    def _advance(self, group: int, at: float) -> None:
        """Time passes: it may have drawn again."""
        if self._law.redraws:
            stays = exp(-self._law.redraws * (at - self._at[group]))
            self._beliefs[group] = tuple(
                [
                    belief * stays + share * (1 - stays)
                    for belief, share in zip(self._beliefs[group], self._law.shares, strict=True)
                ]
            )
        self._at[group] = at

    def _likelihoods(self, number: int, seen: Seen) -> Iterator[float]:
        """How likely each rate makes what was seen; a recovery says nothing of the rate of breakdowns."""
        law, seconds = self._law, seen.at - self._last[number]
        seconds *= law.hours((seen.at + self._last[number]) / 2)
        if self._failing[number]:
            seconds = 0.0
        shown = _latency_likelihoods(law, seen.latency_ms)
        for rate, latency in zip(law.rates, shown, strict=True):
            none = exp(-rate * seconds)
            yield latency * (1 - none if seen.changed and seconds else none)

    def _interval(self, number: int, at: float) -> float:
        law = self._law
        if self._failing[number] and law.recovers:
            outlook = Outlook(law.recovers, law.recovers, 0.0)
        else:
            hours = law.hours(at)
            now = _mean(self._beliefs[number // law.together], law.rates)
            outlook = Outlook(now * hours, (self._usual if law.redraws else now) * hours, law.redraws)
        return outlook.interval(self._prices[number], self._least, self._most)


def _mean(shares: tuple[float, ...], rates: tuple[float, ...]) -> float:
    return sum([share * rate for share, rate in zip(shares, rates, strict=True)])


def _latency_likelihoods(law: Law, latency_ms: float) -> tuple[float, ...]:
    if law.latencies is None:
        return (1.0,) * len(law.rates)
    shown = log(latency_ms / LATENCY_MS)
    return tuple(exp(-(((shown - raised) / LATENCY_SPREAD) ** 2) / 2) for raised in law.latencies)
