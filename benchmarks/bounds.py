"""What can be gained without foresight at equal runs, and if no more is late than at a fixed pace."""

from collections.abc import Callable, Sequence
from math import sqrt
from typing import NamedTuple

from benchmarks.informed import LATE, Informed, Prices
from benchmarks.policies import Policy
from benchmarks.worlds import World

ROUNDS, STEPS = 3, 4
LATE_COSTS = (0.02, 4.0)
"""Between which costs of a late change the right one is sought, in intervals of the fixed pace."""


class Figures(NamedTuple):
    """How a policy fared in a world."""

    runs: int
    mean_s: float
    p95_s: float
    violations: int


Simulate = Callable[[Policy], Figures]


class Bounds(NamedTuple):
    """The informed by the mean alone, and with a 95th percentile that is not above the fixed pace's."""

    informed: Figures
    in_time: Figures | None


def informed_bounds(one: World, fixed: Figures, *, price: float, simulate: Simulate) -> Bounds | None:
    """Both at the runs of a fixed pace, beginning with a price that is about right; None without a law."""
    if one.law is None:
        return None
    search = Search(one, fixed, price=price, simulate=simulate)
    informed = search.at_equal_runs([0.0] * len(one.tracks), rounds=ROUNDS)
    return Bounds(informed, informed if informed.p95_s <= fixed.p95_s else search.in_time())


class Search:
    """Looks for the prices of looks and of late changes by trying them."""

    def __init__(self, one: World, fixed: Figures, *, price: float, simulate: Simulate) -> None:
        self._world, self._fixed, self._price, self._simulate = one, fixed, price, simulate
        self._interval_s = len(one.tracks) * one.until / fixed.runs

    def at_equal_runs(self, costs: Sequence[float], *, rounds: int = 2) -> Figures:
        """With what a late change costs at each endpoint, and as many runs as the fixed pace."""
        found = self._tried(costs)
        for _ in range(rounds - 1):
            self._price *= (found.runs / self._fixed.runs) ** 2
            found = self._tried(costs)
        return found

    def _tried(self, costs: Sequence[float]) -> Figures:
        interval_s = self._interval_s
        prices = [Prices(self._price, cost * interval_s, LATE * interval_s) for cost in costs]
        return self._simulate(Informed(self._world, prices))

    def in_time(self) -> Figures | None:
        """The lowest mean that was found with a percentile that is not above the fixed pace's.

        The percentile jumps at some cost of a late change, where many endpoints take to the fixed
        pace at once. So of two costs that are close, as many endpoints as necessary pay the higher.
        """
        (low, high), count = LATE_COSTS, len(self._world.tracks)
        best = None
        for _ in range(STEPS):
            cost = sqrt(low * high)
            found = self.at_equal_runs([cost] * count)
            low, high = (low, cost) if self._is_in_time(found) else (cost, high)
            best = self._better(best, found)
        few, many = 0, count
        for _ in range(STEPS):
            paying = (few + many) // 2
            found = self.at_equal_runs([high] * paying + [low] * (count - paying))
            few, many = (few, paying) if self._is_in_time(found) else (paying, many)
            best = self._better(best, found)
        return best

    def _is_in_time(self, found: Figures) -> bool:
        return found.p95_s <= self._fixed.p95_s

    def _better(self, best: Figures | None, found: Figures) -> Figures | None:
        better = self._is_in_time(found) and (best is None or found.mean_s < best.mean_s)
        return found if better else best
