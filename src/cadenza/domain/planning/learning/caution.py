"""How far runs of quiet endpoints may be put off: as far as late discoveries stay rare."""

from math import exp, log
from typing import NamedTuple

LATE_PERIODS = 0.95
"""A change is seen late if it is seen after this delay: a fixed pace would have seen 95 % of all by then."""
LATE_SHARE = 0.046
"""The share of changes that may be seen late: a little less than at a fixed pace."""
LEAST_LIMIT, MOST_LIMIT = 1.0, 3.0
"""The limit of intervals, by those of a fixed pace with as many runs."""
LIMIT_STEP, LIMIT_SHARE = 0.3, 0.065
"""By how much a late change lowers the limit, as a logarithm; and the share of late ones at which it stays.

That share is above a fixed pace's, or at that pace the limit could never grow.
"""
MANY_CHANGES = 1_000.0
"""After so many changes the cost of late ones is known well enough, and needs no limit beside it."""
FIRST_COST, LEAST_COST, MOST_COST = 0.5, 0.1, 5.0
"""What a late change costs beside its delay, in periods."""
COST_STEP = 0.1


class LateCost(NamedTuple):
    """What a change costs, beside its delay, in a gap that is longer than this; in periods."""

    cost: float = 0.0
    after: float = 1.0


class Caution(NamedTuple):
    """The longest interval, and the cost of a late change, learned from how late changes were seen.

    Runs go where they shorten the mean delay most, so that endpoints that seem quiet run less
    often, and what changes there is seen later than at a fixed pace. Every change that is seen
    late makes that dearer, every other one a little cheaper, until no more are late than at a
    fixed pace. That takes many changes to learn. Until then a limit keeps all intervals near the
    fixed pace's: it rises with changes that are seen in time, falls with late ones, and goes up
    with their number. Before the first change there is nothing to learn from, and the fixed pace
    is kept.
    """

    log_cost: float = log(FIRST_COST)
    log_limit: float = log(LEAST_LIMIT)
    changes: float = 0.0

    @property
    def keeps_pace(self) -> bool:
        """Whether nothing has changed yet, so that no endpoint is known to differ from the others."""
        return not self.changes

    @property
    def limit(self) -> float:
        """The longest interval, by that of a fixed pace with as many runs."""
        return exp(self.log_limit)

    def late_cost(self, allowance: float) -> LateCost:
        """The cost of a late change, where so many runs are allowed in a period."""
        return LateCost(exp(self.log_cost), 1 / allowance)

    def after_change(self, gap: float, *, count: float = 1.0, announced: bool = False) -> "Caution":
        """After a change at an unknown moment of a gap, by the interval of a fixed pace with as many runs.

        The run may have shown several changes as one: `count` is how many there probably were.
        """
        late = late_probability(gap, announced=announced)
        changes = min(self.changes + 1, MANY_CHANGES)
        least = log(LEAST_LIMIT) + (log(MOST_LIMIT) - log(LEAST_LIMIT)) * (changes / MANY_CHANGES) ** 2
        return Caution(
            min(
                max(self.log_cost + COST_STEP * (late - LATE_SHARE) * count, log(LEAST_COST)), log(MOST_COST)
            ),
            min(max(self.log_limit - LIMIT_STEP * (late - LIMIT_SHARE), least), log(MOST_LIMIT)),
            changes,
        )


def late_probability(gap: float, *, announced: bool = False) -> float:
    """How likely a change at an unknown moment of a gap was seen late.

    If stress announced it at an unknown moment of the gap, it came after that.
    """
    over = gap - LATE_PERIODS
    if over <= 0:
        return 0.0
    return (over - LATE_PERIODS * log(gap / LATE_PERIODS) if announced else over) / gap
