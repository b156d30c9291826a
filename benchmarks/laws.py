"""How a made-up world works: what one can know of it who does not know what was drawn."""

from collections.abc import Callable
from typing import NamedTuple


def at_all_hours(_at: float) -> float:
    """Changes come as often by day as by night."""
    return 1.0


class Law(NamedTuple):
    """The rates that an endpoint may have, and how it comes to another one.

    An endpoint has one of the rates, keeps it for a while, and then draws again by the shares; two
    states that take turns are such a law too. Which rate it has at a moment is not part of the law,
    nor is any change that was drawn.
    """

    rates: tuple[float, ...]
    """Changes per second."""
    shares: tuple[float, ...]
    """The part of the time in which an endpoint has each rate."""
    first: tuple[float, ...]
    """How likely it has each rate at the start."""
    redraws: float = 0.0
    """How often it draws again, per second; 0 if it keeps its rate."""
    together: int = 1
    """How many endpoints have the same rate at the same time."""
    hours: Callable[[float], float] = at_all_hours
    """What all rates are multiplied by at a moment."""
    recovers: float | None = None
    """The rate of recovery, where changes are breakdowns and recoveries in turn."""
    latencies: tuple[float, ...] | None = None
    """By how much the logarithm of the latency is raised at each rate, if that shows."""


def drawn_once(rates: tuple[float, ...]) -> Law:
    """Rates that are equally likely, and stay."""
    alike = (1 / len(rates),) * len(rates)
    return Law(rates, alike, alike)
