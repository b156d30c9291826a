"""Worlds to look at: when their endpoints really change, and what shows of it beforehand."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from math import exp
from random import Random
from statistics import NormalDist
from typing import NamedTuple

from benchmarks.laws import Law, drawn_once

HOUR = 3_600.0
DAY = 24 * HOUR
JOB = 5
"""How many endpoints are siblings."""
MEAN_RATE = 1 / HOUR
FAR = 40.0
LATENCY_MS, LATENCY_SPREAD, LATENCY_RAISED = 50.0, 0.2, 0.8
"""The usual latency; how far its logarithm strays, and by how much it is raised under stress."""
LAW_RATES = 24
"""How many rates stand for a spread of them, where only the spread is known."""


class Timing(NamedTuple):
    """The baseline of every endpoint, and its guard, in seconds."""

    period_s: float = 300.0
    guard_s: tuple[float, float] = (30.0, 1_800.0)


class Piece(NamedTuple):
    """A stretch of time in which changes come at one rate."""

    start: float
    rate: float
    """Changes per second."""


class Track(NamedTuple):
    """The truth about one endpoint, which only the clairvoyant sees."""

    pieces: tuple[Piece, ...]
    changes: tuple[float, ...]
    stressed: tuple[float, ...] = ()
    """Moments at which its latency rises, falls, rises again."""
    breaks: bool = False
    """Whether its changes are breakdowns and recoveries in turn."""
    starts: tuple[float, ...] = ()

    def rate(self, at: float) -> float:
        """The true rate at a moment."""
        return self.pieces[bisect_right(self.starts, at) - 1].rate

    def failing(self, at: float) -> bool:
        """Is it down?"""
        return self.breaks and bisect_right(self.changes, at) % 2 == 1

    def is_stressed(self, at: float) -> bool:
        """Is its latency high?"""
        return bool(self.stressed) and bisect_right(self.stressed, at) % 2 == 1

    def between(self, begin: float, end: float) -> Iterator[tuple[float, float, float]]:
        """The pieces of a stretch of time: from, to, rate."""
        place = bisect_right(self.starts, begin) - 1
        while begin < end:
            until = min(self.starts[place + 1], end) if place + 1 < len(self.starts) else end
            yield begin, until, self.pieces[place].rate
            begin, place = until, place + 1


class Hidden(NamedTuple):
    """Spells that begin unannounced, and who is struck by one together."""

    low: float
    high: float
    every: float
    lasting: float
    together: int = 1

    @property
    def law(self) -> Law:
        """Calm and spell in turn, calm at the start."""
        often = self.lasting / (self.lasting + self.every)
        redraws = 1 / self.lasting + 1 / self.every
        return Law((self.low, self.high), (1 - often, often), (1.0, 0.0), redraws, self.together)


class World(NamedTuple):
    """Endpoints with one baseline and one guard."""

    tracks: tuple[Track, ...]
    until: float
    wide: bool = False
    """Whether rates differ so much, or announce themselves so well, that a third of the delay can be won."""
    level: bool = False
    """Whether nothing can be won."""
    law: Law | None = None
    """What can be known without foresight; None if there is nothing to know."""
    timing: Timing = Timing()


class Size(NamedTuple):
    """How much of a world to make."""

    endpoints: int = 100
    days: float = 3.0

    @property
    def until(self) -> float:
        """When it ends."""
        return self.days * DAY


Make = Callable[[Size, Random], World]


def track(
    pieces: tuple[Piece, ...], until: float, *, chance: Random, stressed: tuple[float, ...] = ()
) -> Track:
    """Changes at random, at the rates given."""
    changes, starts = [], tuple(piece.start for piece in pieces)
    for piece, end in zip(pieces, (*starts[1:], until), strict=True):
        at = piece.start
        while piece.rate > 0 and (at := at + chance.expovariate(piece.rate)) < end:
            changes.append(at)
    return Track(pieces, tuple(changes), stressed, starts=starts)


def lognormal(sigma: float, chance: Random) -> float:
    """A rate with the same mean whatever the spread."""
    return MEAN_RATE * exp(chance.gauss(0, sigma) - sigma**2 / 2)


def spread(sigma: float, count: int, chance: Random) -> list[float]:
    """Lognormal rates in any order: the mean of each of so many equally likely parts, without luck."""
    normal = NormalDist()
    cuts = [-FAR, *(normal.inv_cdf(place / count) for place in range(1, count)), FAR]
    rates = [
        MEAN_RATE * count * (normal.cdf(end - sigma) - normal.cdf(begin - sigma))
        for begin, end in pairwise(cuts)
    ]
    chance.shuffle(rates)
    return rates


def spread_law(sigma: float) -> Law:
    """Rates that are known to be spread like this, and not which endpoint has which."""
    return drawn_once(tuple(sorted(spread(sigma, LAW_RATES, Random(0)))))


def steady(sigma: float) -> Make:
    """Rates that differ between endpoints and stay."""

    def make(size: Size, chance: Random) -> World:
        rates = spread(sigma, size.endpoints, chance)
        tracks = [track((Piece(0.0, rate),), size.until, chance=chance) for rate in rates]
        law = spread_law(sigma) if sigma else None
        return World(tuple(tracks), size.until, wide=sigma >= 1.5, level=sigma == 0, law=law)

    return make


def quiet(size: Size, _: Random) -> World:
    """Nothing ever changes."""
    still = Track((Piece(0.0, 0.0),), (), starts=(0.0,))
    return World((still,) * size.endpoints, size.until, level=True)


def drifting(size: Size, chance: Random) -> World:
    """Every endpoint becomes another one, about once in a day and a half."""

    def pieces() -> Iterator[Piece]:
        at = 0.0
        while at < size.until:
            yield Piece(at, lognormal(1.5, chance))
            at += chance.expovariate(1 / (1.5 * DAY))

    tracks = [track(tuple(pieces()), size.until, chance=chance) for _ in range(size.endpoints)]
    return World(tuple(tracks), size.until, law=spread_law(1.5)._replace(redraws=1 / (1.5 * DAY)))


def by_day(at: float) -> float:
    """What rates are multiplied by, from eight to eight and at night."""
    return 16 / 9 if 8 <= at / HOUR % 24 < 20 else 2 / 9


def business_hours(size: Size, chance: Random) -> World:
    """Unequal rates, eight times as high by day as by night; for longer, since a day must pass first."""
    until = 2 * size.until

    def pieces(rate: float) -> Iterator[Piece]:
        for half in range(round(until / DAY * 2) + 1):
            yield Piece(max(half * 12 - 4, 0) * HOUR, rate * (16 / 9 if half % 2 else 2 / 9))

    tracks = [
        track(tuple(pieces(rate)), until, chance=chance) for rate in spread(1.0, size.endpoints, chance)
    ]
    return World(tuple(tracks), until, law=spread_law(1.0)._replace(hours=by_day))


def change_moments(hidden: Hidden, until: float, *, chance: Random) -> tuple[float, ...]:
    """Moments at which something begins, ends, begins again."""
    moments: list[float] = []
    at = chance.expovariate(1 / hidden.every)
    while at < until:
        moments.append(at)
        at += chance.expovariate(1 / hidden.lasting)
        moments.append(at)
        at += chance.expovariate(1 / hidden.every)
    return tuple(moments)


def switched(moments: tuple[float, ...], hidden: Hidden) -> tuple[Piece, ...]:
    """Low and high in turn."""
    turns = (Piece(at, hidden.low if turn % 2 else hidden.high) for turn, at in enumerate(moments))
    return (Piece(0.0, hidden.low), *turns)


def bursts(size: Size, chance: Random) -> World:
    """Long calm, then hours in which changes follow each other, and nothing says so beforehand."""
    hidden = Hidden(0.1 / HOUR, 3 / HOUR, 30 * HOUR, 10 * HOUR)
    pieces = (
        switched(change_moments(hidden, size.until, chance=chance), hidden) for _ in range(size.endpoints)
    )
    tracks = tuple(track(one, size.until, chance=chance) for one in pieces)
    return World(tracks, size.until, law=hidden.law)


def siblings(size: Size, chance: Random) -> World:
    """Incidents that strike all endpoints of a job, unannounced."""
    hidden = Hidden(0.05 / HOUR, 3 / HOUR, 24 * HOUR, 3 * HOUR, together=JOB)
    tracks: list[Track] = []
    while len(tracks) < size.endpoints:
        pieces = switched(change_moments(hidden, size.until, chance=chance), hidden)
        tracks += (track(pieces, size.until, chance=chance) for _ in range(JOB))
    return World(tuple(tracks[: size.endpoints]), size.until, law=hidden.law)


def precursors(size: Size, chance: Random) -> World:
    """Latency rises before things change, and most changes come while it is high."""
    course = Hidden(0.05 / HOUR, 4 / HOUR, 15 * HOUR, 1.5 * HOUR)

    def one() -> Track:
        moments = change_moments(course, size.until, chance=chance)
        return track(switched(moments, course), size.until, chance=chance, stressed=moments)

    law = course.law._replace(latencies=(0.0, LATENCY_RAISED))
    return World(tuple(one() for _ in range(size.endpoints)), size.until, wide=True, law=law)


RECOVERS = 1 / (0.75 * HOUR)


def breakdowns(size: Size, chance: Random) -> World:
    """Endpoints that break, some more often than others, and recover within the hour."""

    def one(rate: float) -> Track:
        breaks, at = rate / 2, 0.0
        pieces, changes = [Piece(0.0, breaks)], []
        while (at := at + chance.expovariate(pieces[-1].rate)) < size.until:
            changes.append(at)
            pieces.append(Piece(at, RECOVERS if len(changes) % 2 else breaks))
        return Track(
            tuple(pieces), tuple(changes), breaks=True, starts=tuple(piece.start for piece in pieces)
        )

    halves = tuple(rate / 2 for rate in spread_law(1.0).rates)
    law = drawn_once(halves)._replace(recovers=RECOVERS)
    return World(tuple(map(one, spread(1.0, size.endpoints, chance))), size.until, law=law)


WORLDS: Mapping[str, Make] = {
    "equal rates": steady(0.0),
    "sigma 1": steady(1.0),
    "sigma 1.5": steady(1.5),
    "sigma 2": steady(2.0),
    "nothing changes": quiet,
    "drifting": drifting,
    "office hours": business_hours,
    "bursts": bursts,
    "siblings": siblings,
    "precursors": precursors,
    "breakdowns": breakdowns,
}


def world(name: str, size: Size, *, seed: int) -> World:
    """One of them, always the same from the same seed."""
    return WORLDS[name](size, Random(f"{name} {seed}"))
