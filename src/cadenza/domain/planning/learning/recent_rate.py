"""How often something changes now: a ladder of rates, and how well each explains the latest looks."""

from collections.abc import Sequence
from math import exp, log
from operator import mul
from typing import NamedTuple

Rungs = tuple[float, ...]

RUNGS = 12
SLOWEST, FASTEST = 2e-4, 2.0
LADDER: Rungs = tuple(SLOWEST * float((FASTEST / SLOWEST) ** (rung / (RUNGS - 1))) for rung in range(RUNGS))
"""Changes per beat; on each rung a bit more than twice those on the rung below."""
STAYS_BEATS = (40.0, 400.0, 4_000.0)
"""How long an endpoint may keep its rate, until it has any that others have; which it is, is learned."""
UNKNOWN: tuple[Rungs, ...] = ((1.0,) * RUNGS,) * len(STAYS_BEATS)
"""Support for each rung, compared with the usual: before the first look they are all alike."""
GUESSED_RATE = 0.02
GUESSED_WIDTH = 2.0
GUESSED_BEATS = 100.0
FULL_BEATS = 500_000.0
SMALLEST = 1e-290
SUREST = 20.0
"""How far, as a logarithm, one way to change may fall behind another: not so far that it cannot come back."""


def _guess() -> Rungs:
    bell = [exp(-((log(rate / GUESSED_RATE) / GUESSED_WIDTH) ** 2) / 2) for rate in LADDER]
    return tuple(GUESSED_BEATS * height / sum(bell) for height in bell)


class Usual(NamedTuple):
    """What endpoints usually do: the beats spent on each rung, and how well each staying explains them."""

    beats: Rungs = _guess()
    evidence: Rungs = (0.0,) * len(STAYS_BEATS)
    """As logarithms, the best of them 0."""

    @property
    def shares(self) -> Rungs:
        """The share of time that is spent on each rung."""
        whole = 1 / sum(self.beats)
        return tuple([beat * whole for beat in self.beats])

    @property
    def weights(self) -> Rungs:
        """How much is to be said for each staying."""
        odds = [exp(one) for one in self.evidence]
        whole = sum(odds)
        return tuple([one / whole for one in odds])


class Climb(NamedTuple):
    """Where one endpoint stands on the ladder, for each staying."""

    supports: tuple[Rungs, ...] = UNKNOWN

    def waited(self, beats: float) -> "Climb":
        """After some beats without a look: it goes back to the usual."""
        after = []
        for support, stays_beats in zip(self.supports, STAYS_BEATS, strict=True):
            stays = exp(-beats / stays_beats)
            moved = 1 - stays
            after.append(tuple([one * stays + moved for one in support]))
        return Climb(tuple(after))

    def mean(self, shares: Rungs, weights: Rungs) -> float:
        """Changes per beat, all in all."""
        rates = list(map(mul, shares, LADDER))
        means: Sequence[float] = [
            # The shares may have moved since the last look, so that supports no longer add up to one.
            sum(map(mul, support, rates)) / sum(map(mul, support, shares))
            for support in self.supports
        ]
        whole: float = sum(map(mul, means, weights))
        return whole


def looked(climb: Climb, usual: Usual, *, beats: float, spent: float, changed: bool) -> tuple[Climb, Usual]:
    """After a look, so many beats after the last; the mean of all supports is 1."""
    shares, weights = usual.shares, usual.weights
    likely = [exp(-rate * beats) for rate in LADDER]
    if changed:
        likely = [1 - one for one in likely]
    supports, told = [], []
    for support in climb.supports:
        after = list(map(mul, support, likely))
        whole = max(sum(map(mul, after, shares)), SMALLEST)
        supports.append(tuple([one / whole for one in after]))
        told.append(log(whole))
    evidence = list(map(sum, zip(usual.evidence, told, strict=True)))
    best = max(evidence)
    kept = 1.0 if sum(usual.beats) < FULL_BEATS else 0.5
    where = [
        sum(map(mul, weights, on_rung)) * share for share, *on_rung in zip(shares, *supports, strict=True)
    ]
    return Climb(tuple(supports)), Usual(
        tuple([old * kept + spent * new for old, new in zip(usual.beats, where, strict=True)]),
        tuple([max(one - best, -SUREST) for one in evidence]),
    )
